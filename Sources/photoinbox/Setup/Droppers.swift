import ArgumentParser
import FileValues

/// Who drops photos, and by what.
enum Droppers: String, CaseIterable, ExpressibleByArgument {
    case local, samba, sftp, ftp, syncthing, me

    /// Whether filed photos stay in the inbox, where removing them would remove them elsewhere.
    var keepsFiles: Bool { self == .syncthing }

    /// What remains to be added to the configuration of another program, which is not changed.
    func advice(_ answers: SetupAnswers) -> String? {
        let place = answers.inbox.escaped
        let group =
            answers.group.map { "\n    valid users = @\($0)\n    force group = \($0)" }
            ?? "\n    valid users = \(answers.user)"
        switch self {
        case .local, .me: return nil
        case .samba:
            return """
                Add to /etc/samba/smb.conf, then: sudo systemctl reload smbd; sudo smbpasswd -a \(answers.user)
                [\(answers.inboxName)]
                    path = \(place)
                    read only = no\(group)
                    create mask = 0664
                    directory mask = 2775
                """
        case .sftp:
            return """
                To let \(answers.user) use SFTP alone, add to the end of /etc/ssh/sshd_config, then: sudo systemctl reload ssh
                Match User \(answers.user)
                    ForceCommand internal-sftp -u 0002 -d \(place)
                    AllowTcpForwarding no
                    X11Forwarding no
                """
        case .ftp:
            return """
                Add to /etc/vsftpd.conf, then: sudo systemctl restart vsftpd
                local_enable=YES
                write_enable=YES
                local_umask=002
                local_root=\(place)
                """
        case .syncthing:
            return """
                In Syncthing, which runs as \(answers.user), add a folder of the type "Receive Only" with the path \(place), and \
                turn on "Ignore Permissions". Filed photos stay there: mode = "copy".
                """
        }
    }
}
