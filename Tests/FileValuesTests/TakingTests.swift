import FileValues
import Testing

@Suite("Taking")
struct TakingTests {
    @Test("What is taken is gone, and a flag is set once")
    func taking() {
        var (list, set, flag) = ([1, 2], Set([3]), false)
        #expect(list.takeAll() == [1, 2] && list.isEmpty)
        #expect(set.takeAll() == [3] && set.isEmpty)
        #expect(flag.set() && flag && !flag.set() && flag)
    }
}
