import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import PhotoModel
import Reporting

struct SimilarCommand: DaemonCommand {
    static let configuration = CommandConfiguration("similar", "List similar photos, in groups.")

    static let lesson = """
        EXAMPLES:
          photoinbox similar                    nearly identical photos, first filed first in each group
          photoinbox similar --distance 0       only identical hashes: other sizes, other programs
          photoinbox similar --distance 10      also retouched ones; expect photos that only resemble each other
          photoinbox similar --json | jq -r '.groups[] | .photos[1:][] | .path'

        Each photo has a hash of 64 bits, made of the coarse light and shadow in it; two photos are similar if few of these
        bits differ. A group is linked by its neighbours: its ends may differ in more. Copies in other sizes and formats are
        found; photos that were turned, mirrored or cut are not. Nothing is deleted, moved or marked.

        The daemon makes hashes if "hash" is among the renditions of an inbox; "photoinbox thumbs" makes them at once. Photos
        that are too uniform to be distinguished (a white page) are left out.

        EXIT STATUS:
          0   similar photos were found
          4   none were found
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Option(help: ArgumentHelp("How many of 64 bits may differ: 0 to 15.", valueName: "bits"))
    var distance = 4

    @Option(help: ArgumentHelp("Only photos from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Show at most this many groups.", valueName: "number"))
    var limit = 1_000

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !(0...SimilarIndex.greatestDistance).contains(distance) {
            throw ValidationError("--distance must be from 0 to \(SimilarIndex.greatestDistance).")
        }
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    func run(at places: Places) throws {
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let catalogue = try places.openCatalogue()
        let all = try catalogue.likenesses(inbox: inbox)
        let groups = SimilarIndex(all.map(\.likeness), distance: distance).groups
        let listed = try groups.prefix(limit).map { group in try members(group.map { all[$0] }, catalogue) }
        if output.json {
            try printJSON([
                JSONField("described", all.count), JSONField("distance", distance), JSONField("found", groups.count),
                JSONField("groups", listed.map { JSONValue.object([JSONField("photos", $0)]) }),
            ])
        } else if all.isEmpty {
            printRemark("no photo has a hash yet; to make them: photoinbox thumbs")
        } else if groups.isEmpty {
            printRemark("no similar photos among \(HumanText.count(all.count))")
        } else {
            try printOut(text(listed, Terminal.style(output.color)))
            let rest = groups.count > listed.count ? "; \(HumanText.count(listed.count)) are shown; see --limit" : ""
            printRemark(
                "\(HumanText.count(groups.count, "group", "groups")) among \(HumanText.count(all.count)) photos\(rest)")
        }
        if groups.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private struct Member: JSONRepresentable {
        let photo: StoredPhoto
        /// From the first of its group.
        let distance: Int

        var json: JSONValue {
            let place = photo.photo.library.appending(photo.photo.libraryPath)
            return .object(
                [JSONField("distance", distance)] + JSONField.path("path", place)
                    + [JSONField("photo", photo)])
        }
    }

    private func members(_ group: [PhotoLikeness], _ catalogue: CatalogueFile) throws -> [Member] {
        try group.compactMap { one in
            try catalogue.photo(id: one.photoID).map { photo in
                Member(photo: photo, distance: (one.likeness ^ group[0].likeness).nonzeroBitCount)
            }
        }
    }

    private func text(_ groups: [[Member]], _ style: TextStyle) -> String {
        var table = TextTable([
            ("GROUP", .right), ("BITS", .right), ("NUMBER", .right), ("PIXELS", .right), ("SIZE", .right),
            ("PLACE", .left),
        ])
        for (number, group) in groups.enumerated() {
            for member in group {
                let photo = member.photo.photo
                let pixels = photo.width.flatMap { width in photo.height.map { "\(width) × \($0)" } } ?? "unknown"
                table.add([
                    "\(number + 1)", "\(member.distance)", member.photo.number, pixels, HumanText.bytes(photo.size),
                    photo.libraryPath.escaped,
                ])
            }
        }
        return table.rendered(style)
    }
}
