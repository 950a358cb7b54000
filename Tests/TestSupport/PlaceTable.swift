import FileValues
import Foundation

/// A small table of place names, made by scripts/place-names from rows such as GeoNames has.
package enum PlaceTable {
    /// Names and codes as of 2024, and a place near a pole.
    private static let rows = """
        Berlin 52.52437 13.41053 PPLC DE 16 3426354
        Mitte 52.52003 13.40489 PPLX DE 16 102338
        Falkensee 52.56014 13.0927 PPL DE 11 38267
        Kehl 48.57297 7.81523 PPL DE 01 33988
        Weil_am_Rhein 47.59331 7.62082 PPL DE 01 30009
        Strasbourg 48.58392 7.74553 PPLA FR 44 274845
        Huningue 47.5916 7.5826 PPL FR 44 7000
        Basel 47.55839 7.57327 PPLA CH BS 177595
        Reykjavík 64.13548 -21.89541 PPLC IS 39 118918
        Copenhagen 55.67594 12.56553 PPLC DK 17 1153615
        Dragør 55.5928 12.67221 PPLA2 DK 17 11618
        Malmö 55.60587 13.00073 PPLA SE 27 362133
        Apia -13.83333 -171.76666 PPLC WS 10 40407
        Labasa -16.4332 179.36451 PPL FJ 03 27949
        Waiyevo -16.7833 -179.9833 PPL FJ 03 1000
        Pole -89.99 45 PPL AQ 00 1000
        Rungholt 54.45 8.68 PPLQ DE 10 0
        """
    private static let regions = """
        DE.16\tState of Berlin\tx\t1
        DE.01\tBaden-Württemberg\tx\t1
        FR.44\tGrand Est\tx\t1
        CH.BS\tBasel-City\tx\t1
        IS.39\tCapital Region\tx\t1
        SE.27\tSkåne\tx\t1
        """
    private static let countries = [
        "DE": "Germany", "FR": "France", "CH": "Switzerland", "IS": "Iceland", "DK": "Denmark", "SE": "Sweden",
        "WS": "Samoa", "FJ": "Fiji", "AQ": "Antarctica",
    ]

    /// Makes it at `path`; `more` is one more place of the same form.
    package static func make(at path: String, more: String = "") throws {
        let scratch = try ScratchDirectory()
        func write(_ lines: [String], _ name: String) throws {
            try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: scratch.appending(name)))
        }
        let places = (rows + "\n" + more).split(separator: "\n").enumerated().map { number, row in
            let cells = row.split(separator: " ").map { $0.replacing("_", with: " ") }
            return
                ([
                    "\(number)", cells[0], "", "", cells[1], cells[2], "P", cells[3], cells[4], "", cells[5], "", "",
                    "",
                    cells[6], "", "", "", "",
                ]).joined(separator: "\t")
        }
        try write(places, "cities1000.txt")
        try write([regions], "admin1CodesASCII.txt")
        try write(
            ["#ISO"] + countries.sorted { $0.key < $1.key }.map { "\($0.key)\t\t\t\t\($0.value)" }, "countryInfo.txt")
        let script = BytePath(#filePath).parent.parent.parent.appending("scripts/place-names")
        try runProgram(["/usr/bin/env", "python3", "\(script)", scratch.path, path])
    }
}
