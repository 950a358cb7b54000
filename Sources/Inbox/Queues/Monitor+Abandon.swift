import SystemMonitor

extension Monitor {
    /// Ends a monitor that was set up for something that then failed, and holds it until that is done. From any thread.
    func abandon() {
        queue.async { self.invalidate { withExtendedLifetime(self) {} } }
    }
}
