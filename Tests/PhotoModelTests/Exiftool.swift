import Foundation

/// Runs Debian's exiftool for the fields that the reader reports.
enum Exiftool {
    private static let program = "/usr/bin/exiftool"
    static let isInstalled = access(program, X_OK) == 0

    /// The fields of make-fixtures.py.
    private static let fields = [
        "-File:FileType", "-IFD0:Make", "-IFD0:Model", "-IFD0:Orientation", "-IFD0:ModifyDate",
        "-ExifIFD:DateTimeOriginal", "-ExifIFD:OffsetTimeOriginal", "-ExifIFD:SubSecTimeOriginal",
        "-ExifIFD:CreateDate",
        "-GPS:GPSDateStamp", "-GPS:GPSTimeStamp", "-Apple:MediaGroupUUID", "-Apple:ContentIdentifier",
        "-XMP-xmp:CreateDate", "-XMP-photoshop:DateCreated", "-PNG:ModifyDate", "-PNG:CreationTime",
        "-QuickTime:CreateDate", "-Keys:CreationDate", "-Keys:ContentIdentifier", "-Keys:Make", "-Keys:Model",
        "-ImageWidth", "-ImageHeight",
    ]

    /// Its output for these files, as JSON; waits for its end.
    static func answer(of paths: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["-json", "-n", "-G1"] + fields + paths
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return answer
    }

    /// One row for each file, with its groups and fields.
    static func rows(in answer: Data) throws -> [[String: Any]] {
        try JSONSerialization.jsonObject(with: answer) as? [[String: Any]] ?? []
    }
}
