import Reporting
import Testing

@Suite("Proposed commands name their daemon")
struct DaemonAddressTests {
    @Test("The daemon of the standard configuration needs no option")
    func standard() {
        let text = "photoinbox list --outcome quarantined says why; sudo systemctl start photoinboxd"
        #expect(DaemonAddress.system.completing(text) == text)
        #expect(
            DaemonAddress.user.completing(text)
                == "photoinbox list --outcome quarantined says why; systemctl --user start photoinboxd")
    }

    @Test("Another daemon is identified by its configuration and its unit")
    func instance() {
        let studio = DaemonAddress.instance("studio", configuration: "/etc/photoinbox/studio.toml")
        for (text, wanted) in [
            ("photoinbox undo 1", "photoinbox undo --config /etc/photoinbox/studio.toml 1"),
            ("photoinbox export-csv", "photoinbox export-csv --config /etc/photoinbox/studio.toml"),
            (
                "photoinbox store get --from 2018 s3://x",
                "photoinbox store get --config /etc/photoinbox/studio.toml --from 2018 s3://x"
            ),
            ("photoinbox store test https://x", "photoinbox store test https://x"),
            ("photoinboxd --check", "photoinboxd --config /etc/photoinbox/studio.toml --check"),
            ("sudo systemctl start photoinboxd", "sudo systemctl start photoinboxd@studio"),
            ("then systemctl reload photoinboxd", "then systemctl reload photoinboxd@studio"),
            ("systemctl status photoinboxd-fetch.socket", "systemctl status photoinboxd-fetch.socket"),
            ("use the photoinbox that came with it", "use the photoinbox that came with it"),
            ("sudo systemctl stop photoinboxd", "sudo systemctl stop photoinboxd@studio"),
            ("stop photoinboxd first", "stop photoinboxd first"),
        ] {
            #expect(studio.completing(text) == wanted)
            #expect(studio.completing(wanted) == wanted, "once is enough")
        }
    }

    @Test("A daemon started by hand is identified by its state directory")
    func byHand() {
        let own = DaemonAddress.state("/home/ana/photo state")
        #expect(own.completing("photoinbox retry --all") == "photoinbox retry --state '/home/ana/photo state' --all")
        #expect(
            own.completing("Start it: sudo systemctl start photoinboxd")
                == "Start it: photoinboxd --state '/home/ana/photo state' with --inbox and --library as before")
        #expect(own.completing("Stop it: sudo systemctl stop photoinboxd") == "Stop it: Ctrl-C where it was started")
        // By the environment, say.
        let found = DaemonAddress.state("st", isFound: true)
        #expect(found.completing("photoinbox retry --all") == "photoinbox retry --all")
        #expect(
            found.completing("sudo systemctl start photoinboxd")
                == "photoinboxd --state st with --inbox and --library as before")
    }

    @Test("All proposals of the problem table are completed")
    func table() {
        let own = DaemonAddress.configuration("/a.toml")
        for code in ProblemCode.allCases {
            let action = own.completing(code.row.action.generalText)
            for match in action.matches(of: #/photoinbox ([a-z-]+)/#) {
                #expect(DaemonAddress.commands.contains(String(match.1)), "\(code): \(action)")
            }
        }
    }
}
