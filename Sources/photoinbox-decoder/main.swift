import DecoderService
import Glibc

// Started by the daemon, or by `photoinbox thumbs`, with a socket as its standard input.
let arguments = Array(CommandLine.arguments.dropFirst())
// Asked before there is a picture; see ThumbnailWork.
if arguments.first == "--identify" {
    guard let identity = try? ThumbnailMaker.identity(films: arguments.contains("--films")) else { exit(70) }
    print(identity)
    exit(0)
}
if arguments == ["--finds-faces"] { exit(ThumbnailMaker.findsFaces ? 0 : 1) }
exit(DecoderService.run(arguments, maker: ThumbnailMaker()).rawValue)
