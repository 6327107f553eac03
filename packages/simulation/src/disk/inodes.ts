import type { Choices } from '../engine/seeded-random.js'

/** What a device writes completely or not at all. */
const SECTOR_BYTES = 512

/** A file or a folder. */
export type Inode = FileNode | FolderNode

/** Names that change in one step. */
export interface NameChange {
  readonly names: readonly { folder: FolderNode; name: string; inode: Inode | undefined }[]
}

/** A file: its content in memory, and its content on the device. */
export class FileNode {
  readonly number: number
  readonly createdAt: number
  mtime: number
  /** The content in memory, with space for more, and its size. */
  private bytes: Buffer = Buffer.alloc(0)
  size = 0
  /** The content on the device. It can share its bytes with the content in memory, so they are never overwritten. */
  durable: Buffer = this.bytes
  /** The content in memory as it was last read. */
  private view: Buffer | undefined = this.bytes

  constructor(number: number, createdAt: number) {
    this.number = number
    this.createdAt = createdAt
    this.mtime = createdAt
  }

  /** The content in memory: another buffer after each change, so that results which were computed from it can be kept. */
  get content(): Buffer {
    this.view ??= this.bytes.subarray(0, this.size)
    return this.view
  }

  write(added: Uint8Array, position: number, at: number): void {
    const end = position + added.length
    if (position < this.durable.length || end > this.bytes.length) {
      const bytes = Buffer.alloc(Math.max(2 * end, this.size))
      this.content.copy(bytes)
      this.bytes = bytes
    }
    this.bytes.set(added, position)
    this.size = Math.max(this.size, end)
    this.view = undefined
    this.mtime = at
  }

  truncate(size: number, at: number): void {
    this.size = Math.min(size, this.size)
    this.view = undefined
    this.mtime = at
  }

  flush(): void {
    this.durable = this.content
  }

  losePower(choices: Choices): void {
    const { durable, content } = this
    if (content.length !== durable.length || !content.equals(durable))
      this.durable = tear(durable, content, choices)
    this.bytes = this.durable
    this.size = this.durable.length
    this.view = this.durable
  }
}

/** A folder: its names in memory, and its names on the device. */
export class FolderNode {
  readonly number: number
  readonly createdAt: number
  mtime: number
  names = new Map<string, Inode>()
  readonly durableNames = new Map<string, Inode>()

  constructor(number: number, createdAt: number) {
    this.number = number
    this.createdAt = createdAt
    this.mtime = createdAt
  }

  setName(name: string, inode: Inode | undefined): void {
    setOrDelete(this.names, name, inode)
  }

  setDurableName(name: string, inode: Inode | undefined): void {
    setOrDelete(this.durableNames, name, inode)
  }

  losePower(choices: Choices): void {
    this.names = new Map(this.durableNames)
    for (const inode of this.names.values()) inode.losePower(choices)
  }
}

function setOrDelete(names: Map<string, Inode>, name: string, inode: Inode | undefined): void {
  if (inode === undefined) names.delete(name)
  else names.set(name, inode)
}

/** The content after a power failure during writes: the old one, the new one, or sectors of both, with zeros in new sectors. */
function tear(before: Buffer, after: Buffer, choices: Choices): Buffer {
  if (choices.chance(0.25)) return before
  if (choices.chance(0.25)) return after
  const shorter = Math.min(before.length, after.length)
  const length = shorter + choices.below(Math.max(before.length, after.length) - shorter + 1)
  const torn = Buffer.alloc(length)
  before.copy(torn)
  for (let at = 0; at < length; at += SECTOR_BYTES)
    if (at < after.length && choices.chance(0.5))
      after.copy(torn, at, at, Math.min(at + SECTOR_BYTES, length))
  return torn
}
