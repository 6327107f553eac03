import { createHash } from 'node:crypto'
import { toColumn } from '../text.js'

/** A hash of 16 bytes for a name of any length: half of its SHA-256, for which collisions cannot be constructed. */
export const hashName = (name: string): string =>
  createHash('sha256').update(toColumn(name)).digest('hex').slice(0, 32)
