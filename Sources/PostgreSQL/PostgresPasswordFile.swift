import Glibc

/// The file in which libpq looks for a password: that of `passfile=`, else of PGPASSFILE, else `~/.pgpass`.
public enum PostgresPasswordFile {
    /// Why libpq takes no password from the file at `path`, of which it says nothing to us; nil if it reads it.
    public static func fault(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            return code == ENOENT || code == ENOTDIR
                ? "there is no password file \(path)"
                : "the password file \(path) cannot be read: \(String(cString: strerror(code)))"
        }
        if status.st_mode & S_IFMT != S_IFREG { return "the password file \(path) is no regular file" }
        if status.st_mode & 0o077 != 0 {
            return "others than its owner may use the password file \(path), so it is ignored: chmod 0600 \(path)"
        }
        if access(path, R_OK) != 0 {
            return "the password file \(path) cannot be read: \(String(cString: strerror(errno)))"
        }
        return nil
    }
}
