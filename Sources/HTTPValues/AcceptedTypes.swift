extension RequestHead {
    /// Whether whoever asks wants a page rather than a value, as browsers do where a person opens an address, and scripts and
    /// programs do not; see RFC 9110 12.5.1.
    package var prefersPages: Bool {
        let html = weight(of: ["text/html"])
        return html > 0 && html > weight(of: ["application/json", "application/*", "*/*"])
    }

    /// The weight of the first of these ranges that is accepted; 0 if none is.
    private func weight(of ranges: [String]) -> Double {
        let accepted = fields.values(of: "accept").flatMap { $0.split(separator: ",") }.map { item in
            item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        }
        for range in ranges {
            guard let parameters = accepted.first(where: { $0.first == range })?.dropFirst() else { continue }
            let weight = parameters.first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            return weight ?? 1
        }
        return 0
    }
}
