import FileValues

/// The base of one source's relative paths.
struct PathBase: Hashable {
    /// The directory of relative paths; nil if they are refused.
    let directory: BytePath?
    /// Whether a relative path may begin with `..`, as on a command line.
    let mayClimb: Bool
}

/// The reason why a value is refused.
package struct ValueMistake: Error, Hashable, Sendable {
    package let message: String
    /// The position of the wrong element in an array.
    var position: TextPosition?

    package init(_ message: String) { self.message = message }

    init(_ message: String, at position: TextPosition) {
        self.message = message
        self.position = position
    }
}

/// The reader and writer of one kind of values. The kinds are in ``Form``.
struct ValueForm<Value: Sendable>: Sendable {
    /// The kind of value, for the manual.
    let name: String
    let takesArray: Bool
    let read: @Sendable (TOMLNode, PathBase) throws(ValueMistake) -> Value
    /// Returns a value as it would be written in the file.
    let write: @Sendable (Value) -> String

    /// Values that are written as a string. If `read` returns nil, the message is `hint`.
    init(
        _ name: String, hint: String, write: @escaping @Sendable (Value) -> String = { "\($0)" },
        read: @escaping @Sendable (String, PathBase) throws(ValueMistake) -> Value?
    ) {
        self.name = name
        takesArray = false
        self.write = { tomlString(write($0)) }
        self.read = { (node, base) throws(ValueMistake) in
            guard case .string(let text) = node.content else {
                throw ValueMistake("expected a string, found \(node.kindName); \(hint)")
            }
            guard let value = try read(text, base) else { throw ValueMistake(hint) }
            return value
        }
    }

    /// Values that are written as an array of strings. `read` gets an element and those before it; if it returns nil,
    /// the message is that the element is not `element`. An empty array is refused unless it `mayBeEmpty`.
    init<Element>(
        arrayOf name: String, element: String, hint: String, mayBeEmpty: Bool = true,
        write: @escaping @Sendable (Element) -> String = { "\($0)" },
        read: @escaping @Sendable (String, [Element]) throws(ValueMistake) -> Element?
    ) where Value == [Element] {
        self.name = "array of " + name
        takesArray = true
        self.write = { tomlArray($0.map { tomlString(write($0)) }) }
        self.read = { (node, _) throws(ValueMistake) in
            guard case .array(let elements) = node.content else {
                throw ValueMistake("expected an array of strings, found \(node.kindName); \(hint)")
            }
            if elements.isEmpty, !mayBeEmpty { throw ValueMistake("the array is empty; \(hint)") }
            var values: [Element] = []
            for node in elements {
                do throws(ValueMistake) {
                    guard case .string(let word) = node.content else {
                        throw ValueMistake("expected an array of strings, found \(node.kindName) in it; \(hint)")
                    }
                    guard let value = try read(word, values) else {
                        throw ValueMistake("\(quoted(word)) is not \(element); \(hint)")
                    }
                    values.append(value)
                } catch { throw ValueMistake(error.message, at: node.position) }
            }
            return values
        }
    }
}

/// Returns the TOML array of `texts`, each as it would be written.
func tomlArray(_ texts: [String]) -> String { "[" + texts.joined(separator: ", ") + "]" }

/// Returns `text` as a TOML basic string.
package func tomlString(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": out += "\\\(scalar)"
        case "\n": out += "\\n"
        case "\t": out += "\\t"
        case "\r": out += "\\r"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            out += "\\u" + padded(scalar.value, 4, radix: 16, uppercase: true)
        default: out.unicodeScalars.append(scalar)
        }
    }
    return out + "\""
}
