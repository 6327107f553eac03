/** Where error records are written besides the store, and for how long. */
export interface ErrorLogOptions {
  /** The folder; without one there are no files. */
  dir?: string | undefined
  /** Files of days that ended longer ago are deleted, in milliseconds. @defaultValue 14 days */
  maxAge?: number | undefined
  /** A file that would grow beyond so many bytes is put aside and another begun. @defaultValue 10 MiB */
  maxSize?: number | undefined
}
