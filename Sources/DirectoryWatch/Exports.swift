// The values that notices, policies and memories are made of are part of this module's interface.
@_exported public import WatchCore
