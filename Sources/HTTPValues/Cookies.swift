/// The cookies of a request and of an answer; see RFC 6265.
package enum Cookies {
    /// The most cookies of one name that are returned.
    private static let limit = 4

    /// The values of a cookie. There are several where programs below other paths of the same host use its name.
    package static func values(of name: String, in fields: HeaderFields) -> [String] {
        var found: [String] = []
        for field in fields.values(of: "cookie") {
            for pair in field.split(separator: ";") {
                let halves = pair.drop { $0 == " " }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if halves.count == 2, halves[0] == name, found.count < limit { found.append(String(halves[1])) }
            }
        }
        return found
    }

    /// The `Set-Cookie` of a cookie that no script and no other site can use. Without `Path` it is for the directory of the
    /// request's target, whatever path a proxy gives that. `value` has no more than digits and letters.
    package static func setting(_ name: String, _ value: String, seconds: Int, isSecure: Bool) -> String {
        "\(name)=\(value); Max-Age=\(seconds); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }
}
