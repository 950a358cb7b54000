import DecoderService
import Glibc

// Started by the daemon, or by `photoinbox thumbs`, with a socket as its standard input.
let arguments = Array(CommandLine.arguments.dropFirst())
// Asked before there is a picture; see ThumbnailWork.
if arguments == ["--finds-faces"] { exit(ThumbnailMaker.findsFaces ? 0 : 1) }
exit(DecoderService.run(arguments, maker: ThumbnailMaker()).rawValue)
