import ControlProtocol
import LinuxKernel

/// Who may request what of the control socket. A value.
struct ControlRights: Sendable {
    /// The daemon's own user.
    let own: UInt32
    /// Users who are in the operators' group to write into inboxes, or to read for people, and are no operators.
    let downloads: UInt32?
    let pages: UInt32?
    /// The user of the program that strangers reach: it learns of its own inbox alone.
    let drop: UInt32?
    var operators: UInt32?
    /// The inbox into which uploads go.
    var dropInbox: String?

    func isDrop(_ peer: PeerCredentials) -> Bool { peer.user == drop && !isOwn(peer) }

    private func isOwn(_ peer: PeerCredentials) -> Bool { peer.user == 0 || peer.user == own }

    func allow(_ request: ControlRequest, by peer: PeerCredentials) -> Bool {
        let command = request.command
        if isDrop(peer) {
            guard request.person == nil else { return false }
            switch command {
            case .known: return dropInbox != nil
            case .outcomes(let inbox, _, _): return inbox == dropInbox
            default: return false
            }
        }
        if command.onlyReads { return true }
        if request.person != nil { return (isOwn(peer) || peer.user == pages) && command.isForPages }
        if isOwn(peer) { return true }
        if command.isForOwner { return false }
        return !command.isForDrop && ![downloads, pages].contains(peer.user)
            && operators.map { peer.isIn(group: $0) } == true
    }
}
