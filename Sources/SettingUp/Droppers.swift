import ArgumentParser
import CommandSupport
import FileValues
import Reporting

/// Who drops photos, and by what.
enum Droppers: String, CaseIterable, ExpressibleByArgument {
    case local, samba, sftp, ftp, syncthing, me

    /// Whether filed photos stay in the inbox, where removing them would remove them elsewhere.
    var keepsFiles: Bool { self == .syncthing }

    /// Throws if the server could not be given this inbox.
    func requireNamed(_ answers: SetupAnswers) throws(CommandFailure) {
        let (inbox, name) = (answers.inbox, answers.inboxName)
        let text = inbox.escaped
        // sshd splits the command that it is forced to run at blanks, knows no quotes in it, and refuses single ones.
        if self == .sftp, text.contains(where: { " '".contains($0) }) {
            throw CommandFailure(
                .usage,
                "sshd cannot begin in \(inbox): the start directory of internal-sftp has no blanks and no quotes",
                action: "Name an inbox without them.")
        }
        guard self == .samba else { return }
        // smbd has no way to write such a % itself.
        if zip(text, text.dropFirst()).contains(where: { $0 == "%" && ($1 == "$" || $1.isLetter) }) {
            throw CommandFailure(
                .usage, "smbd would replace % and what follows it in \(inbox)",
                action: "Name an inbox without % before a letter or $.")
        }
        if ["global", "homes", "printers"].contains(name.lowercased()) {
            throw CommandFailure(
                .usage, "a share of Samba cannot be named \(name), which smb.conf(5) uses for something else",
                action: "Give the inbox another name: --inbox-name NAME.")
        }
    }

    /// What remains to be done for another program, whose configuration is not changed: commands, but for Syncthing.
    func advice(_ answers: SetupAnswers) -> String? {
        let place = answers.inbox.escaped
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
                    path = \(place)
                    read only = no\(group)
                    create mask = 0664
                    directory mask = 2775
                # photos: end
                END
                sudo smbpasswd -a \(answers.user)
                sudo systemctl restart smbd
                """
        case .sftp where answers.isCaller:
            return """
                # \(answers.user) can upload over SFTP. What limits a user to that is not printed, since it would take the shell
                # from \(answers.user), who runs this; for somebody who only uploads, run it again with --as USER.
                """
        case .sftp:
            // One for each user: of several ForceCommand for one, the first counts. With a mistake in it sshd would not start.
            let file = shellQuoted("/etc/ssh/sshd_config.d/photoinbox-\(answers.user).conf")
            return """
                # This is left to you, and lets \(answers.user) use SFTP and no shell; never do it to yourself:
                sudo tee \(file) <<'END'
                Match User \(answers.user)
                    ForceCommand internal-sftp -u 0002 -d \(place.replacing("%", with: "%%"))
                    DisableForwarding yes
                END
                sudo mkdir -p /run/sshd
                if sudo sshd -t; then sudo systemctl restart ssh; else sudo rm \(file); fi
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
