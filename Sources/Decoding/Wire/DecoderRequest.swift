/// One picture to be made small. The picture itself and the file for the answer go with it as descriptors.
package struct DecoderRequest: Hashable, Sendable {
    /// What a picture may be, judged before its pixels are decoded.
    package struct Limits: Hashable, Sendable {
        /// Of the file.
        package var bytes: UInt64
        /// Width times height.
        package var pixels: UInt64
        /// The longer side.
        package var side: UInt32
        /// Passes over the picture that a progressive JPEG may ask for.
        package var scans: UInt32
        /// Seconds of processor time.
        package var processorSeconds: UInt32

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

    /// How the file is to be read.
    package enum Kind: UInt8, CaseIterable, Hashable, Sendable {
        /// By what its first bytes say: JPEG, PNG, WebP, TIFF, HEIF.
        case picture = 1
        /// The preview that a camera put into its raw file.
        case raw = 2
        /// One of our own renditions, to be made to look like a model of what it shows.
        case tiltShift = 3
        /// One of our own renditions, to get googly eyes.
        case googly = 4
        /// The tiles of a contact sheet, as ``SheetSource`` writes them.
        case sheet = 5

        /// Of these one size is made.
        package var makesOne: Bool { self != .picture && self != .raw }
    }

    /// At most so many sizes are made of one picture.
    package static let mostSizes = 8

    /// The answer carries it again.
    package var id: UInt64
    package var kind: Kind
    package var limits: Limits
    /// Of the JPEGs, 1 to 100.
    package var quality: UInt8
    /// The sides of the squares that the small pictures fit into, from large to small.
    package var sizes: [UInt32]

    package init(id: UInt64, kind: Kind, limits: Limits = Limits(), quality: UInt8 = 80, sizes: [UInt32]) {
        self.id = id
        self.kind = kind
        self.limits = limits
        self.quality = quality
        self.sizes = sizes
    }
}

/// Where a small picture lies in the answer's file.
package struct DecodedPart: Hashable, Sendable {
    /// The size that was asked for.
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

/// What a decoder tells of a picture that it has made small. Nothing of it is proven: see ``DecoderAnswer/check(against:)``.
package struct DecoderAnswer: Hashable, Sendable {
    package var id: UInt64
    /// As the picture is shown, after it was turned.
    package var width: UInt32
    package var height: UInt32
    /// As EXIF counts, 1 to 8; 0 where the picture does not say.
    package var orientation: UInt8
    /// The decoder's own, in bytes, when it was done.
    package var memory: UInt64
    /// What it looks like: of pictures that look alike few bits differ. Nil for one that is too even to be told from others.
    package var likeness: UInt64?
    package var parts: [DecodedPart]

    package init(
        id: UInt64, width: UInt32, height: UInt32, orientation: UInt8, memory: UInt64, likeness: UInt64? = nil,
        parts: [DecodedPart]
    ) {
        self.likeness = likeness
        self.id = id
        self.width = width
        self.height = height
        self.orientation = orientation
        self.memory = memory
        self.parts = parts
    }

    /// Holds the answer against what was asked, so that what is read by it is bounded whatever the decoder has become.
    /// `fileSize` is the answer file's as the kernel tells it.
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

/// A picture that a decoder did not make small.
package struct DecoderRefusal: Hashable, Sendable {
    /// What kind of reason. Raw values stand in messages and never change.
    package enum Code: UInt8, CaseIterable, Hashable, Sendable {
        /// Beyond one of the limits.
        case tooLarge = 1
        /// The decoding library gave up.
        case unreadable = 2
        /// A raw file without a preview that can be read.
        case noPreview = 3
        /// The request was not understood.
        case badRequest = 4
        /// The answer could not be written.
        case noRoom = 5
        /// Nothing to work on is in it: no face.
        case nothingFound = 6
        /// This build of the decoder cannot.
        case unsupported = 7
    }

    package var id: UInt64
    package var code: Code
    /// For people; bytes that nobody vouches for.
    package var reason: String

    package init(id: UInt64, code: Code, reason: String) {
        self.id = id
        self.code = code
        self.reason = reason
    }
}

/// What a decoder says first, once it is confined or knows that it cannot be.
package struct DecoderHello: Hashable, Sendable {
    /// What could not be had; empty if it is confined entirely.
    package var gaps: String

    package init(gaps: String) { self.gaps = gaps }
}
