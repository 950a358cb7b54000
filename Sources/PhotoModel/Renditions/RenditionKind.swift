/// What is made from a photo: a picture, or what stands for one. Raw values stand in the configuration and in the
/// catalogue, and never change.
package enum RenditionKind: String, CaseIterable, Hashable, Sendable {
    /// The small picture of lists.
    case thumbnail
    /// The larger one, to be looked at.
    case preview
    /// What the photo looks like, in 64 bits: by it near duplicates are found.
    case hash
    /// The preview, blurred above and below, as if it showed a model.
    case tiltShift = "tilt-shift"
    /// The preview with googly eyes over each pair of eyes.
    case googly

    /// What has to be there before; where it needs nothing, it is made of the photo itself.
    package var needs: [RenditionKind] {
        switch self {
        case .thumbnail, .preview: []
        case .hash: [.thumbnail]
        case .tiltShift, .googly: [.preview]
        }
    }

    /// Where nothing else is asked for.
    package static let standard: [RenditionKind] = [.thumbnail, .preview, .hash]
}
