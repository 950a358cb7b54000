// What is handed over once: the value, and what is left behind, in one step.

extension Array {
    /// Removes and returns all elements.
    package mutating func takeAll() -> Self {
        defer { self = [] }
        return self
    }
}

extension Set {
    /// Removes and returns all elements.
    package mutating func takeAll() -> Self {
        defer { self = [] }
        return self
    }
}

extension Bool {
    /// Sets it; returns whether it was not set before.
    package mutating func set() -> Bool {
        defer { self = true }
        return !self
    }
}
