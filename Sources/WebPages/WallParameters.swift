import Catalogue
import HTTPValues
import WebServing

/// An answer instead of what was asked for.
struct Refusal: Error {
    let answer: WebResponse

    init(_ answer: WebResponse) { self.answer = answer }

    init(_ status: HTTPStatus, _ message: String, action: String? = nil, seconds: Int? = nil) {
        let fields = seconds.map { [(name: "Retry-After", value: "\($0)")] } ?? []
        answer = .failure(status, message, action: action, fields: fields)
    }
}

extension RequestTarget {
    /// Refuses parameters of other names, which would be conditions that do not count.
    func requireParameters(of names: Set<String>) throws(Refusal) {
        for name in parameterNames where !names.contains(name) {
            throw Refusal(.badRequest, "there is no parameter \(name)")
        }
    }

    /// The value of a parameter that may occur once; nil if it does not.
    func text(_ name: String) throws(Refusal) -> String? {
        let values = try texts(name)
        guard values.count < 2 else { throw Refusal(.badRequest, "\(name) is given twice") }
        return values.first
    }

    func texts(_ name: String) throws(Refusal) -> [String] {
        let values = values(of: name)
        guard values.allSatisfy({ $0.contains { $0 != " " } }) else { throw Refusal(.badRequest, "\(name) is empty") }
        return values
    }

    /// A number in decimal digits, written in one way only.
    func number<Number: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(Refusal) -> Number {
        guard let text = try text(name), let number = Number(text), "\(number)" == text, range.contains(number) else {
            throw Refusal(.badRequest, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The photos of a parameter, with commas between them.
    func keys(_ name: String, atMost most: Int) throws(Refusal) -> [PhotoKey] {
        let parts = try text(name)?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        let keys = parts.compactMap { PhotoKey(String($0)) }
        guard keys.count == parts.count, (1...most).contains(keys.count) else {
            throw Refusal(.badRequest, "\(name) must be from 1 to \(most) photos: NUMBER-MARK,NUMBER-MARK")
        }
        return keys
    }

    /// The rendition of a parameter; without it, what the timeline shows.
    func picture(_ name: String) throws(Refusal) -> Picture {
        guard let text = try text(name) else { return .tile }
        guard let picture = Picture(text) else { throw Refusal(.badRequest, "there is no rendition \(text)") }
        return picture
    }
}

extension PlaceGrid {
    /// The least size of a cell, in degrees: a tenth of a metre.
    private static let sizes = 0.000_001...360.0

    init(_ target: RequestTarget) throws(Refusal) {
        try target.requireParameters(of: ["bbox", "width", "height"])
        guard let area = try target.text("bbox").flatMap({ SearchArea(box: $0) }) else {
            throw Refusal(.badRequest, "bbox must be WEST,SOUTH,EAST,NORTH in degrees")
        }
        func size(_ name: String) throws(Refusal) -> Double {
            guard let size = try target.text(name).flatMap({ Double($0) }), Self.sizes.contains(size) else {
                throw Refusal(
                    .badRequest, "\(name) must be degrees from \(Self.sizes.lowerBound) to \(Self.sizes.upperBound)")
            }
            return size
        }
        self.init(area, width: try size("width"), height: try size("height"))
    }
}

extension SearchQuery {
    private static let names: Set = [
        "words", "keyword", "person", "place", "title", "camera", "lens", "name", "rating", "from", "until", "inbox",
        "near", "bbox",
    ]
    /// How many words, keywords and people there may be.
    private static let texts = 32

    /// The conditions of `photoinbox search`, as parameters of the same names.
    init(_ target: RequestTarget) throws(Refusal) {
        self.init()
        try target.requireParameters(of: Self.names)
        guard !target.parameterNames.isEmpty else { throw Refusal(.badRequest, "a search has at least one condition") }
        words = try target.text("words").map { Self.words($0) } ?? []
        (keywords, people) = (try target.texts("keyword"), try target.texts("person"))
        guard words.count + keywords.count + people.count <= Self.texts else {
            throw Refusal(.badRequest, "there may be \(Self.texts) words, keywords and people")
        }
        (place, title) = (try target.text("place"), try target.text("title"))
        (camera, lens) = (try target.text("camera"), try target.text("lens"))
        (name, inbox) = (try target.text("name"), try target.text("inbox"))
        if try target.text("rating") != nil { rating = try target.number("rating", in: Self.ratings) }
        (takenFrom, takenUntil) = (try Self.time("from", target), try Self.time("until", target))
        let (near, box) = (try target.text("near"), try target.text("bbox"))
        guard near == nil || box == nil else { throw Refusal(.badRequest, "near and bbox exclude each other") }
        if let near {
            guard let circle = SearchArea(around: near) else {
                throw Refusal(.badRequest, "near must be LATITUDE,LONGITUDE,DISTANCE, with a distance in m or km")
            }
            area = circle
        }
        if let box {
            guard let inside = SearchArea(box: box) else {
                throw Refusal(.badRequest, "bbox must be WEST,SOUTH,EAST,NORTH in degrees")
            }
            area = inside
        }
    }

    private static func time(_ name: String, _ target: RequestTarget) throws(Refusal) -> String? {
        guard let text = try target.text(name) else { return nil }
        guard isBeginningOfTime(text) else {
            throw Refusal(.badRequest, "\(name) must be like 2026, 2026-08, 2026-08-21 or 2026-08-21T14:07")
        }
        return text
    }
}
