import ControlProtocol
import Foundation

@testable import Top

/// States as a daemon gives them, a second apart.
enum Samples {
    static func state(
        pid: Int = 7, second: Int = 0, delivered: Int = 0, filed: Int = 0, processor: Double = 0,
        inHand: [(file: String, age: Int, stage: String)] = [], monitors count: Int = 3,
        label: String = "control", problems: String = ""
    ) throws -> DaemonState {
        let time = { (second: Int) in
            "2026-11-24T14:\(String(format: "%02d:%02d", 8 + second / 60, second % 60)).000Z"
        }
        let hand = inHand.map { arrival in
            """
            {"inbox":"card","file":\(quoted(arrival.file)),"stage":"\(arrival.stage)","what":"copying","since":"\(time(0))",
            "firstSeen":"\(time(second - arrival.age))","attempts":1}
            """
        }
        let monitors = (0..<count).map { number in
            """
            {"id":\(number),"kind":"TimerMonitor","label":\(quoted(number == 0 ? label : "timer \(number)")),"queue":"q",
            "state":"active","since":"\(time(0))","delivered":\(delivered * number),"dropped":0,"coalesced":0,"errors":0,
            "handlerMicroseconds":{"min":1,"median":\(number + 1)0,"p99":200,"max":3000}}
            """
        }
        let text = """
            {"format":1,"at":"\(time(second))","program":{"version":"1","pid":\(pid),"started":"\(time(0))",
            "uptimeSeconds":7200,"status":"","phase":"running","residentBytes":24000000,"descriptors":40,"threads":9,
            "processorSeconds":\(processor)},
            "inboxes":[{"name":"card","path":"/srv/card","mode":"move","verdict":"live","watches":41,
            "polledDirectories":0,"knownFiles":0,"counts":{"seen":\(filed + inHand.count),"filed":\(filed),"duplicate":0,
            "quarantined":0,"ignored":0,"withdrawn":0,"deferred":0,"inHand":\(inHand.count)},"events":\(filed * 2),
            "overflows":0}],
            "library":"/srv/photos","inHand":[\(hand.joined(separator: ","))],"outcomes":[],"problems":[\(problems)],
            "subsystems":[{"name":"pipeline","queue":"photo-inbox.pipeline","step":"idle","since":"\(time(0))","waiting":0},
            {"name":"files of card","queue":"photo-inbox.files.card","step":"copying: card/a.jpg","since":"\(time(0))",
            "waiting":2,"stuckSeconds":12.5}],
            "monitors":[\(monitors.joined(separator: ","))],
            "log":{"destination":"console","queued":0,"sent":1,"dropped":0}}
            """
        return try JSONDecoder().decode(DaemonState.self, from: Data(text.utf8))
    }

    private static func quoted(_ text: String) -> String {
        (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }

    /// A sample with its rates: the second of two.
    static func sample(_ state: DaemonState) -> TopSample {
        var history = TopHistory()
        _ = history.add(state, at: 1, load: [0.5, 0.25, 0.1])
        return history.add(state, at: 2, load: [0.5, 0.25, 0.1])
    }
}
