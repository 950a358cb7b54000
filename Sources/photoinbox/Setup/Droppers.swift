import ArgumentParser
import CommandSupport
import FileValues
import Reporting

/// Who drops photos, and by what.
enum Droppers: String, CaseIterable, ExpressibleByArgument {
    case local, samba, sftp, ftp, syncthing, me

    /// Whether filed photos stay in the inbox, where removing them would remove them elsewhere.
    var keepsFiles: Bool { self == .syncthing }

    /// Throws if the server could not be given this inbox: sshd splits the command that it is forced to run at blanks, knows
    /// no quotes in it, and refuses single ones.
    func requireNamed(_ inbox: BytePath) throws(CommandFailure) {
        guard self == .sftp, inbox.escaped.contains(where: { " '".contains($0) }) else { return }
        throw CommandFailure(
            .usage, "sshd cannot begin in \(inbox): the start directory of internal-sftp has no blanks and no quotes",
            action: "Name an inbox without them.")
    }

    /// What remains to be done for another program, whose configuration is not changed: commands, but for Syncthing.
    func advice(_ answers: SetupAnswers) -> String? {
        let place = answers.inbox.escaped
        // Samba and internal-sftp replace what follows one.
        let expanded = place.replacing("%", with: "%%")
        let group =
            answers.group.map { "\n    valid users = @\($0)\n    force group = \($0)" }
            ?? "\n    valid users = \(answers.user)"
        switch self {
        case .local, .me: return nil
        case .samba:
            return """
                # This is left to you, and lets \(answers.user) use Samba:
                sudo tee -a /etc/samba/smb.conf <<'END'
                # photos: begin
                [\(answers.inboxName)]
                    path = \(expanded)
                    read only = no\(group)
                    create mask = 0664
                    directory mask = 2775
                # photos: end
                END
                sudo smbpasswd -a \(answers.user)
                sudo systemctl restart smbd
                """
        case .sftp:
            return """
                # This is left to you, and lets \(answers.user) use SFTP and no shell; never do it to yourself:
                sudo tee -a /etc/ssh/sshd_config.d/photoinbox.conf <<'END'
                Match User \(answers.user)
                    ForceCommand internal-sftp -u 0002 -d \(expanded)
                    DisableForwarding yes
                END
                sudo sshd -t && sudo systemctl restart ssh
                """
        case .ftp:
            return """
                # This is left to you, and lets \(answers.user) alone use FTP, with the directory \(answers.inbox.name.escaped):
                sudo tee -a /etc/vsftpd.conf <<'END'
                # photos: begin
                write_enable=YES
                local_umask=002
                local_root=\(answers.inbox.parent.escaped)
                chroot_local_user=YES
                userlist_enable=YES
                userlist_deny=NO
                userlist_file=/etc/vsftpd.photoinbox
                # photos: end
                END
                echo \(answers.user) | sudo tee -a /etc/vsftpd.photoinbox
                sudo systemctl restart vsftpd
                """
        case .syncthing:
            return """
                In Syncthing, which runs as \(answers.user), add a folder of the type "Receive Only" with the path \(place), and \
                turn on "Ignore Permissions". Restart it before, so that it has its new group. Filed photos stay there: \
                mode = "copy".
                """
        }
    }
}
