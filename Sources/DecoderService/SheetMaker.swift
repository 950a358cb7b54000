import CPictures
import Decoding
import Glibc
import LinuxKernel

/// Draws a contact sheet: pictures with names and times below them.
enum SheetMaker {
    /// Draws the sheet in `descriptor` as the JPEG of `part`; returns a result of the C functions.
    static func make(
        _ descriptor: Int32, quality: UInt8, limits: inout cpictures_limits, part: inout cpictures_part,
        facts: inout cpictures_facts
    ) throws(WireError) -> Int32 {
        let sheet = try SheetSource(encoded: try content(of: descriptor))
        guard let layout = sheet.layout, UInt64(layout.longerSide) <= UInt64(part.size),
            let page = cpictures_page_begin(UInt32(layout.width), UInt32(layout.height))
        else { return Int32(CPICTURES_TOO_LARGE) }
        defer { cpictures_page_end(page) }
        facts.width = UInt32(layout.width)
        facts.height = UInt32(layout.height)
        write(sheet.title, letters: layout.titleLetters, grey: 40, at: (SheetLayout.margin, SheetLayout.margin), page)
        for (number, tile) in sheet.tiles.enumerated() {
            let (x, y) = layout.place(of: number)
            let side = UInt32(layout.side)
            let result =
                tile.picture.isEmpty
                ? Int32(CPICTURES_UNREADABLE)
                : cpictures_page_picture(
                    page, tile.picture, tile.picture.count, &limits, UInt32(x), UInt32(y), side)
            if result != Int32(CPICTURES_DONE) {
                cpictures_page_fill(page, UInt32(x), UInt32(y), side, side, 236)
                let words = "no picture"
                let left = x + (layout.side - words.utf8.count * SheetLayout.letter.width) / 2
                write(words, letters: layout.letters, grey: 120, at: (max(x, left), y + layout.side / 2 - 7), page)
            }
            for (line, (text, grey)) in [(tile.name, UInt8(0)), (tile.time, UInt8(110))].enumerated() {
                let top = y + layout.side + SheetLayout.captionOffset(line: line)
                write(text, letters: layout.letters, grey: grey, at: (x, top), page)
            }
        }
        return cpictures_page_save(page, Int32(quality), &part)
    }

    /// Draws one line; long text loses its middle, since the beginning and end of a name matter most.
    private static func write(
        _ text: String, letters: Int, grey: UInt8, at place: (x: Int, y: Int), _ page: OpaquePointer
    ) {
        let all = text.unicodeScalars.prefix(SheetSource.longestText).map(\.value)
        var shown = all[...]
        if all.count > letters {
            let (front, back) = (letters / 2, letters - letters / 2 - 1)
            shown = (all.prefix(front) + [0x2026] + all.suffix(max(0, back)))[...]
        }
        let characters = Array(shown)
        cpictures_page_text(page, UInt32(place.x), UInt32(place.y), grey, characters, UInt32(characters.count))
    }

    private static func content(of descriptor: Int32) throws(WireError) -> [UInt8] {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end > 0, end <= SheetSource.longest else { throw .length }
        var bytes = [UInt8](repeating: 0, count: Int(end))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled, off_t(filled))
            }
            guard count > 0 else { throw .length }
            filled += count
        }
        return bytes
    }
}
