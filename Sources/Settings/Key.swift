/// The one declaration of a configuration key, from which its reader, default, manual, messages and the default file
/// follow.
struct Key<Value: Sendable>: Sendable {
    /// The default.
    let standard: Value
    let row: KeyRow

    /// A key with a default. `example` is a value as it would be written without quotes, or the elements of an array;
    /// the default if omitted.
    init(
        _ section: SettingsSection, _ name: String, _ form: ValueForm<Value>, default standard: Value,
        example: String..., words: String
    ) {
        self.standard = standard
        row = KeyRow(
            section, name, form, standardText: form.write(standard), example: example, explanation: words)
    }

    /// A key that may have no value; `otherwise` describes its default in words.
    init<Given>(
        _ section: SettingsSection, _ name: String, _ form: ValueForm<Given>, default standard: Given? = nil,
        otherwise: String? = nil, isRequired: Bool = false, example: String..., words: String
    ) where Value == Given? {
        self.standard = standard
        row = KeyRow(
            section, name, form, standardText: standard.map(form.write), otherwise: otherwise, isRequired: isRequired,
            example: example, explanation: words)
    }

    /// Returns the key of one member of its section.
    func at(_ member: String = "") -> SettingsKey { SettingsKey(row.section, member, row.name) }
}

/// A row of the key table: a ``Key`` without its type.
package struct KeyRow: Sendable {
    package let section: SettingsSection
    /// The key's name; in `[signals]` each signal is a key.
    package let name: String
    /// The kind of value, for the manual.
    package let kind: String
    /// The default as it would be written; nil if there is none.
    let standardText: String?
    /// The default as it would be written or in words; nil if there is none.
    package let fallback: String?
    /// Whether its section requires it.
    package let isRequired: Bool
    /// A value as it would be written.
    package let example: String
    /// Its purpose, in whole sentences.
    package let explanation: String
    /// Whether its value is an array.
    let takesArray: Bool
    /// Returns a node's value and how it would be written. Throws the node's mistake.
    let read: @Sendable (TOMLNode, PathBase) throws(ValueMistake) -> (value: any Sendable, text: String)

    fileprivate init<Value>(
        _ section: SettingsSection, _ name: String, _ form: ValueForm<Value>, standardText: String?,
        otherwise: String? = nil, isRequired: Bool = false, example: [String], explanation: String
    ) {
        self.section = section
        self.name = name
        kind = form.name
        self.standardText = standardText
        fallback = standardText ?? otherwise
        self.isRequired = isRequired
        let texts = example.map(tomlString)
        let isDefault = example.isEmpty && standardText != nil
        self.example = isDefault ? standardText ?? "" : form.takesArray ? tomlArray(texts) : texts.joined()
        self.explanation = explanation
        takesArray = form.takesArray
        read = { (node, base) throws(ValueMistake) in
            let value = try form.read(node, base)
            return (value, form.write(value))
        }
    }

    /// `inbox.NAME.quiet`.
    package var path: String { SettingsKey(section, section.isNamed ? "NAME" : "", name).text }
}

/// One key of one section's member: `inbox.card.quiet`.
struct SettingsKey: Hashable {
    let section: SettingsSection
    /// The name of the inbox, timer, descriptor or hook; empty in the other sections.
    let member: String
    let name: String

    init(_ section: SettingsSection, _ name: String) { self.init(section, "", name) }

    init(_ section: SettingsSection, _ member: String, _ name: String) {
        self.section = section
        self.member = member
        self.name = name
    }

    var text: String { [section.rawValue, member, name].filter { !$0.isEmpty }.joined(separator: ".") }

    /// Nil for an unknown key.
    var row: KeyRow? { Settings.keyTable.first { $0.section == section && $0.name == name } }
}

/// The keys of one section: the stored properties, in the order of their declaration.
protocol KeyGroup: Sendable {
    var rows: [KeyRow] { get }
}

extension KeyGroup {
    /// By reflection, as ArgumentParser finds options: a second list could lack a key that is declared.
    var rows: [KeyRow] { Mirror(reflecting: self).children.compactMap { ($0.value as? any HasKeyRow)?.row } }
}

private protocol HasKeyRow {
    var row: KeyRow { get }
}

extension Key: HasKeyRow {}
