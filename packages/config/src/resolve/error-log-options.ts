/** The options of error record files. */
export interface ErrorLogOptions {
  /** The folder of the files; without one no files are written. */
  dir?: string | undefined
  /** Files of days that ended before this many milliseconds are deleted. @defaultValue 14 days */
  maxAge?: number | undefined
  /** The maximum size of a file in bytes; then the file is rotated. @defaultValue 10 MiB */
  maxSize?: number | undefined
}
