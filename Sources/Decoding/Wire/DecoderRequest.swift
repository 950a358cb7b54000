/// A request for renditions of one picture. The picture and the file for the answer are sent with it as descriptors.
package struct DecoderRequest: Hashable, Sendable {
    /// The limits of a picture, checked before its pixels are decoded.
    package struct Limits: Hashable, Sendable {
        /// The size of the file.
        package var bytes: UInt64
        /// Width times height.
        package var pixels: UInt64
        /// The longer side.
        package var side: UInt32
        /// The scans of a progressive JPEG.
        package var scans: UInt32
        /// Seconds of processor time.
        package var processorSeconds: UInt32
        /// Seconds until the client gives up; it sets them.
        package internal(set) var seconds: UInt32 = 0

        package init(
            bytes: UInt64 = 1 << 30, pixels: UInt64 = 268_000_000, side: UInt32 = 65_535, scans: UInt32 = 100,
            processorSeconds: UInt32 = 30
        ) {
            self.bytes = bytes
            self.pixels = pixels
            self.side = side
            self.scans = scans
            self.processorSeconds = processorSeconds
        }
    }

    /// How to read the file.
    package enum Kind: UInt8, CaseIterable, Hashable, Sendable {
        /// By its first bytes: JPEG, PNG, WebP, TIFF, HEIF, GIF, JPEG 2000, JPEG XL, PSD.
        case picture = 1
        /// The camera's preview in a raw file.
        case raw = 2
        /// A rendition, to be made to look like a photo of a miniature.
        case tiltShift = 3
        /// A rendition, to get googly eyes.
        case googly = 4
        /// The tiles of a contact sheet, as ``SheetSource`` writes them.
        case sheet = 5
        /// A frame of a film, or a JPEG that libav alone reads: for a decoder that was started for films.
        case film = 6

        /// Whether only one size is made.
        package var makesOne: Bool {
            switch self {
            case .picture, .raw, .film: false
            case .tiltShift, .googly, .sheet: true
            }
        }
    }

    /// The maximum number of sizes of one picture.
    package static let mostSizes = 8

    /// The answer repeats it.
    package var id: UInt64
    package var kind: Kind
    package var limits: Limits
    /// The JPEG quality, 1 to 100.
    package var quality: UInt8
    /// The sides of the squares that the renditions fit into, from large to small.
    package var sizes: [UInt32]

    package init(id: UInt64, kind: Kind, limits: Limits = Limits(), quality: UInt8 = 80, sizes: [UInt32]) {
        self.id = id
        self.kind = kind
        self.limits = limits
        self.quality = quality
        self.sizes = sizes
    }
}

/// The place of a rendition in the answer's file.
package struct DecodedPart: Hashable, Sendable {
    /// The requested size.
    package var size: UInt32
    package var width: UInt32
    package var height: UInt32
    package var offset: UInt64
    package var length: UInt64

    package init(size: UInt32, width: UInt32, height: UInt32, offset: UInt64, length: UInt64) {
        self.size = size
        self.width = width
        self.height = height
        self.offset = offset
        self.length = length
    }
}

/// A decoder's answer. It is not trusted: see ``DecoderAnswer/check(against:)``.
package struct DecoderAnswer: Hashable, Sendable {
    package var id: UInt64
    /// The size of the picture after it was turned upright.
    package var width: UInt32
    package var height: UInt32
    /// The EXIF orientation, 1 to 8; 0 if there is none.
    package var orientation: UInt8
    /// The decoder's memory when it was done, in bytes.
    package var memory: UInt64
    /// Whether its colour profile cannot be used, and was ignored.
    package var ignoresProfile: Bool
    /// A perceptual hash: similar pictures differ in few bits. Nil for a picture that is too uniform.
    package var likeness: UInt64?
    package var parts: [DecodedPart]

    package init(
        id: UInt64, width: UInt32, height: UInt32, orientation: UInt8, memory: UInt64, ignoresProfile: Bool = false,
        likeness: UInt64? = nil, parts: [DecodedPart]
    ) {
        self.ignoresProfile = ignoresProfile
        self.likeness = likeness
        self.id = id
        self.width = width
        self.height = height
        self.orientation = orientation
        self.memory = memory
        self.parts = parts
    }

    /// Checks the answer against the request, so that reading it is bounded even if the decoder is compromised.
    /// `fileSize` is the size of the answer's file, from the kernel.
    package func check(against request: DecoderRequest, fileSize: UInt64) throws(WireError) {
        guard id == request.id else { throw .contradiction("an answer to another question") }
        guard parts.map(\.size) == request.sizes else { throw .contradiction("other sizes than were asked for") }
        guard orientation <= 8 else { throw .contradiction("orientation \(orientation)") }
        for part in parts {
            let (end, overflow) = part.offset.addingReportingOverflow(part.length)
            guard !overflow, end <= fileSize, (1...DecoderWire.longestPart).contains(part.length) else {
                throw .contradiction("a picture outside its file")
            }
            guard (1...part.size).contains(part.width), (1...part.size).contains(part.height) else {
                throw .contradiction("a picture of \(part.width) x \(part.height) for \(part.size)")
            }
        }
    }
}

/// A decoder's refusal of a picture.
package struct DecoderRefusal: Hashable, Sendable {
    /// The kind of reason. Raw values are part of the messages and never change.
    package enum Code: UInt8, CaseIterable, Hashable, Sendable {
        /// It exceeds a limit.
        case tooLarge = 1
        /// The decoding library failed.
        case unreadable = 2
        /// A raw file without a readable preview.
        case noPreview = 3
        /// The request was not understood.
        case badRequest = 4
        /// The answer could not be written.
        case noRoom = 5
        /// There is nothing to work on: no face.
        case nothingFound = 6
        /// Not supported by this build of the decoder.
        case unsupported = 7
        /// It holds a film and no picture, or is a JPEG that libav alone reads: to be requested as ``Kind/film``.
        case film = 8
    }

    package var id: UInt64
    package var code: Code
    /// For people; not trusted.
    package var reason: String

    package init(id: UInt64, code: Code, reason: String) {
        self.id = id
        self.code = code
        self.reason = reason
    }
}

/// A decoder's first message, once it is confined or has failed to be.
package struct DecoderHello: Hashable, Sendable {
    /// The gaps in its confinement; empty if it is complete.
    package var gaps: String

    package init(gaps: String) { self.gaps = gaps }
}
