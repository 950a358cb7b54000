import Glibc

/// The servers that the operator's words name. All are asked at once, and one is used: that of the highest timeline, since an
/// old primary that was started again after a failover takes writes as well.
enum PostgresServers {
    /// How long those that are slower than the first are waited for by who does not write.
    private static let readersPatience = Duration.seconds(1)

    /// Connections to all that answer, in the order of the words: at least one.
    static func connected(_ parameters: PostgresParameters) throws(PostgresError) -> [PostgresWire] {
        var deadline = ContinuousClock.now + .seconds(parameters.connectSeconds)
        var wires = [try PostgresWire(parameters)]
        if let servers = wires.first?.servers, servers.count > 1 {
            wires = []
            for server in servers { wires.append(try PostgresWire(parameters, server)) }
        }
        var connecting = Array(wires.indices)
        var failures: [Int: PostgresError] = [:]
        while !connecting.isEmpty {
            var others: [Int] = []
            let isLate = ContinuousClock.now >= deadline
            let ready = try isLate ? [] : ready(connecting.map { wires[$0] }, by: deadline)
            for (index, isReady) in zip(connecting, ready) {
                do throws(PostgresError) {
                    guard isReady, try wires[index].advance() else {
                        others.append(index)
                        continue
                    }
                    if !parameters.writes { deadline = min(deadline, .now + readersPatience) }
                } catch { failures[index] = error }
            }
            if isLate {
                for index in connecting {
                    let server = wires[index].servers.count == 1 ? wires[index].servers[0] : []
                    let name = server.first { $0.0 != "port" }?.1 ?? ""
                    failures[index] = wires[index].closed("no answer in time from the server \(name)")
                }
            }
            connecting = others
        }
        let connected = wires.filter(\.isOpen)
        if connected.isEmpty { throw failure(failures.sorted { $0.key < $1.key }.map(\.value)) }
        return connected
    }

    /// Which of `wires` can go on. Returns after `deadline` at the latest.
    private static func ready(
        _ wires: [PostgresWire], by deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> [Bool] {
        var entries = wires.map { pollfd(fd: $0.socket, events: Int16($0.events), revents: 0) }
        let left = ContinuousClock.now.duration(to: deadline).components
        // What has no socket has failed at once.
        let isDone = entries.contains { $0.fd < 0 }
        let milliseconds = isDone ? 0 : left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1
        guard poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds)) >= 0 || errno == EINTR else {
            throw PostgresError(.unreachable, "cannot wait for PostgreSQL: poll(2) failed (\(errno))")
        }
        return entries.map { $0.fd < 0 || $0.revents != 0 }
    }

    /// Why there is no connection: what each server said, and of one that refused it what that means.
    static func failure(_ failures: [PostgresError]) -> PostgresError {
        let main =
            failures.last { $0.sqlState != nil } ?? failures.last { $0.kind == .permission } ?? failures.last
        return PostgresError(
            main?.kind ?? .unreachable, failures.map(\.message).joined(separator: "; "), sqlState: main?.sqlState)
    }

    /// Which is to be used: of the cluster of the first one that with the highest timeline, and rather a primary.
    static func newest(of servers: [PostgresConnection.Server]) -> Int? {
        guard let cluster = servers.first?.systemIdentifier else { return nil }
        func rank(_ index: Int) -> (Int64, Int) { (servers[index].timeline, servers[index].isInRecovery ? 0 : 1) }
        return servers.indices.filter { servers[$0].systemIdentifier == cluster }
            .max { rank($0) < rank($1) || rank($0) == rank($1) && $0 > $1 }
    }
}
