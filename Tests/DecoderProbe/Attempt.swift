import Glibc

/// The operations that a compromised program attempts. Each returns `done`, or the error's name.
enum Attempt {
    static func result(of word: String, picture: Int32) -> String {
        errno = 0
        switch word {
        case "open": return result(open("/etc/passwd", O_RDONLY))
        case "open-proc": return result(open("/proc/self/mem", O_RDWR))
        case "reopen": return result(open("/proc/self/fd/\(picture)", O_RDWR))
        case "create": return result(open("/tmp/decoder-probe.\(getpid())", O_WRONLY | O_CREAT, 0o600))
        case "list": return opendir("/") != nil ? "done" : name(of: errno)
        case "look": return result(access("/etc/passwd", F_OK))
        case "remove": return result(unlink("/tmp/decoder-probe.absent"), absentIsDone: true)
        case "truncate": return result(truncate("/tmp/decoder-probe.absent", 0), absentIsDone: true)
        case "directory": return result(mkdir("/tmp/decoder-probe.d.\(getpid())", 0o700))
        case "write-picture": return result(Int32(clamping: pwrite(picture, "x", 1, 0)))
        case "internet": return result(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        case "local": return result(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        case "fork": return fork()
        case "exec": return exec()
        case "exec-open": return call("memfd_create", "x", 0, 0, 0)
        case "ptrace": return call("ptrace", "", 16, Int(getppid()), 0)
        case "signal": return result(kill(getppid(), 0))
        case "read-memory": return call("process_vm_readv", "", Int(getppid()), 0, 0)
        case "executable-memory":
            let memory = mmap(nil, 4_096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            return memory != MAP_FAILED ? "done" : name(of: errno)
        case "make-executable":
            let memory = mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            return result(mprotect(memory, 4_096, PROT_READ | PROT_EXEC))
        case "much-memory":
            let memory = mmap(nil, 3 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            return memory != MAP_FAILED ? "done" : name(of: errno)
        case "more-limit":
            var limit = rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max)
            return result(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit))
        case "namespace": return call("unshare", "", 0x1000_0000, 0, 0)
        case "descriptors":
            return (0..<64).filter { fcntl($0, F_GETFL) != -1 }.map(String.init).joined(separator: " ")
        case "environment": return environ[0] == nil ? "none" : "some"
        default: return "unknown: \(word)"
        }
    }

    private static func result(_ result: Int32, absentIsDone: Bool = false) -> String {
        if result >= 0 || absentIsDone && errno == ENOENT { return "done" }
        return name(of: errno)
    }

    private static func name(of code: Int32) -> String {
        switch code {
        case EPERM: "EPERM"
        case EACCES: "EACCES"
        case EBADF: "EBADF"
        case ENOMEM: "ENOMEM"
        default: "errno \(code)"
        }
    }

    /// Calls a function of the C library that Swift does not import.
    private static func call(_ call: String, _ text: String, _ a: Int, _ b: Int, _ c: Int) -> String {
        guard let symbol = dlsym(nil, call) else { return "no such call" }
        if !text.isEmpty {
            let body = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>, Int) -> Int32).self)
            return result(body(text, a))
        }
        let body = unsafeBitCast(symbol, to: (@convention(c) (Int, Int, Int, Int, Int, Int) -> Int).self)
        return result(Int32(clamping: body(a, b, c, 0, 0, 0)))
    }

    private static func fork() -> String {
        guard let symbol = dlsym(nil, "fork") else { return "no such call" }
        let child = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
        if child == 0 { _exit(0) }
        if child > 0 { waitpid(child, nil, 0) }
        return result(child)
    }

    private static func exec() -> String {
        // If exec is permitted, the test reads the output of echo.
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("echo"), strdup("done"), nil]
        execv("/bin/echo", &arguments)
        return name(of: errno)
    }
}
