import DecoderService
import Glibc

// A decoder that a hostile picture has compromised, for the tests of its confinement: the picture's text names the
// operation that it attempts. `decoder-probe --bare WORD` attempts it without confinement and prints the result.

let words = CommandLine.arguments
if words.count == 3, words[1] == "--bare" {
    print(Attempt.result(of: words[2], picture: -1))
    exit(0)
}
let startsThread = words[0].hasSuffix("-with-thread")
exit(DecoderService.run(Array(words.dropFirst()), maker: HostileMaker(startsThread: startsThread)).rawValue)
