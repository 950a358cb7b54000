/// The kinds of renditions of a photo. Raw values are used in the configuration and the catalogue, and never change.
package enum RenditionKind: String, CaseIterable, Hashable, Sendable {
    /// The small picture for lists.
    case thumbnail
    /// The larger picture for viewing.
    case preview
    /// A perceptual hash of 64 bits, to find near duplicates.
    case hash
    /// The preview, blurred at the top and bottom, so that it looks like a miniature.
    case tiltShift = "tilt-shift"
    /// The preview with googly eyes over each pair of eyes.
    case googly

    /// The renditions that it requires; without any, it is made from the photo itself.
    package var needs: [RenditionKind] {
        switch self {
        case .thumbnail, .preview: []
        case .hash: [.thumbnail]
        case .tiltShift, .googly: [.preview]
        }
    }

    /// The default.
    package static let standard: [RenditionKind] = [.thumbnail, .preview, .hash]
}
