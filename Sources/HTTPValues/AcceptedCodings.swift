extension RequestHead {
    /// Whether the client can decompress gzip; see RFC 9110 12.5.3. A `*` alone is not enough: nothing has to be compressed.
    package var acceptsGzip: Bool {
        fields.values(of: "accept-encoding").flatMap { $0.split(separator: ",") }.contains { item in
            let parts = item.split(separator: ";", omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            guard parts[0] == "gzip" || parts[0] == "x-gzip" else { return false }
            guard parts.count > 1 else { return true }
            guard parts.count == 2, parts[1].hasPrefix("q="), let weight = Double(parts[1].dropFirst(2)) else {
                return false
            }
            return weight > 0 && weight <= 1
        }
    }
}
