import DecoderService
import Glibc

// A decoder that a hostile picture has taken over, for the tests of its confinement: the picture's text says what it
// tries. `decoder-probe --bare WORD` tries the same without any confinement and prints what came of it.

let words = CommandLine.arguments
if words.count == 3, words[1] == "--bare" {
    print(Attempt.result(of: words[2], picture: -1))
    exit(0)
}
let startsThread = words[0].hasSuffix("-with-thread")
exit(DecoderService.run(Array(words.dropFirst()), maker: HostileMaker(startsThread: startsThread)).rawValue)
