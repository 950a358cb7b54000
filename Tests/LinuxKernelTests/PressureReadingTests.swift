import LinuxKernel
import Testing

struct PressureReadingTests {
    @Test("A pressure file is parsed")
    func parse() throws {
        let text = """
            some avg10=10.92 avg60=14.56 avg300=7.56 total=100384838
            full avg10=0.00 avg60=0.25 avg300=0.00 total=7

            """
        let reading = try #require(PressureReading(parsing: Array(text.utf8)))
        #expect(reading.some.average10 == 10.92 && reading.some.average60 == 14.56 && reading.some.average300 == 7.56)
        #expect(reading.some.total == .microseconds(100_384_838))
        #expect(reading.full?.average60 == 0.25 && reading.full?.total == .microseconds(7))
    }

    @Test("The line full may be missing, as on old kernels")
    func withoutFull() throws {
        let reading = PressureReading(parsing: Array("some avg10=1 avg60=2 avg300=3 total=4".utf8))
        #expect(reading?.full == nil && reading?.some.average300 == 3)
    }

    @Test(
        "A malformed file is refused",
        arguments: ["", "some", "some avg10=x avg60=2 avg300=3 total=4", "full avg10=1 avg60=2 avg300=3 total=4"])
    func malformed(_ text: String) {
        #expect(PressureReading(parsing: Array(text.utf8)) == nil)
    }
}
