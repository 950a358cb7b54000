import CommandSupport
package import FileValues
import LinuxKernel

/// A run of `photoinbox watch`: its directories, events and format.
package struct Watch {
    package var events: WatchEvents
    package var filter: PathFilter
    package var format: EventFormat
    /// Whether existing files are reported.
    package var includesExisting = false
    /// Whether unfinished names are reported.
    package var includesUnfinished = false
    /// The number of events after which it ends.
    package var limit: Int?
    /// Events are counted, but not written.
    package var isSilent = false
    /// The time without an event after which it ends.
    package var timeout: Duration?
    /// The file of reported files, for the next run.
    package var state: BytePath?
    package var manner = Manner()

    /// Which remarks are printed.
    package struct Manner: Sendable {
        /// Only those about missed events.
        package var isQuiet = false
        /// As objects.
        package var isJSON = false
        /// Printed when it begins to watch; nil for nothing.
        package var beginning: String?
        /// Printed when it watches, instead of the usual remark.
        package var ready: String?

        package init(isQuiet: Bool = false, isJSON: Bool = false) { (self.isQuiet, self.isJSON) = (isQuiet, isJSON) }
    }

    package init(_ events: WatchEvents, filter: PathFilter, format: EventFormat) {
        (self.events, self.filter, self.format) = (events, filter, format)
    }

    /// Watches these directories, of which none is in another, until something ends it: then the process ends. In the main
    /// thread, while it is the only one. Throws if it cannot start: a ``CommandFailure``, or the error of a signal that another
    /// monitor has.
    package func run(_ roots: [BytePath]) throws -> Never {
        let known = try state.map { try KnownFiles(at: $0, roots: roots) }
        let session = try WatchSession(
            report: WatchReport(format: format, limit: limit, isSilent: isSilent), manner: manner)
        let source: any EventSource
        do throws(SystemCallError) {
            switch events {
            case .notices(let kinds):
                source = try NoticeSource(
                    session: session, roots: roots,
                    selection: NoticeSource.Selection(
                        kinds: kinds, includesExisting: includesExisting, includesUnfinished: includesUnfinished),
                    filter: filter, known: known)
            case .raw(let mask):
                source = try RawSource(
                    session: session, roots: roots, mask: mask, includesExisting: includesExisting, filter: filter)
            }
        } catch {
            throw CommandFailure(error)
        }
        session.run(source, timeout: timeout)
    }
}
