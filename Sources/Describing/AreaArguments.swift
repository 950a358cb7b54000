import ArgumentParser
import Catalogue

/// `54.32,10.12,5km`: at most a distance away from a position.
struct CircleArgument: ExpressibleByArgument {
    let area: SearchArea

    init?(argument: String) {
        guard let area = SearchArea(around: argument) else { return nil }
        self.area = area
    }
}

/// `9.9,53.4,10.3,53.7`: between degrees of longitude and latitude.
struct BoxArgument: ExpressibleByArgument {
    let area: SearchArea

    init?(argument: String) {
        guard let area = SearchArea(box: argument) else { return nil }
        self.area = area
    }
}
