/// `number`, in decimal or by another `radix`, padded with zeros to at least `width` digits.
package func padded(_ number: some BinaryInteger, _ width: Int, radix: Int = 10, uppercase: Bool = false) -> String {
    let digits = String(number, radix: radix, uppercase: uppercase)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
