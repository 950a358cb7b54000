import DecoderService
import Glibc

// Started by the daemon, or by `photoinbox thumbs`, with a socket as its standard input.
exit(DecoderService.run(Array(CommandLine.arguments.dropFirst()), maker: ThumbnailMaker()).rawValue)
