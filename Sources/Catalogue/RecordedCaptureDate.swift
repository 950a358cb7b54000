// In a file of its own: the module and its main class have one name, so its other types cannot be named through it
// where another module has a type of the same name.

/// The catalogue's capture date.
package typealias RecordedCaptureDate = CaptureDate
