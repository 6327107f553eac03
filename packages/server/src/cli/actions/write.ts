import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'

/** What may hold payloads or credentials is readable by its owner alone, everything else by all. */
const PRIVATE_MODE = 0o600
const PUBLIC_MODE = 0o644

interface WriteOptions {
  /** Whether the file must not exist yet. */
  fresh?: boolean
  /** Whether others may read it: only for what can hold no secret. */
  isPublic?: boolean
}

/** A file that is written piece by piece. */
export async function openFile(
  { io }: CommandContext,
  path: string,
  { fresh = false, isPublic = false }: WriteOptions = {},
): Promise<{ write(text: string): Promise<unknown>; close(): Promise<void> }> {
  try {
    const handle = await open(
      resolve(io.cwd, path),
      fresh ? 'wx' : 'w',
      isPublic ? PUBLIC_MODE : PRIVATE_MODE,
    )
    return { write: (text) => handle.write(text), close: () => handle.close() }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const there = code === 'EEXIST'
    throw new CommandFailure(
      EXIT_CODES.failure,
      there ? `${path} is there already` : `${path} cannot be written (${code})`,
      there ? { hint: 'choose another name, or add --force to write over it' } : {},
    )
  }
}

/** Writes a whole file, or prints it where none is named. */
export async function writeOrPrint(
  context: CommandContext,
  path: string | undefined,
  text: string,
  options: WriteOptions = {},
): Promise<void> {
  if (path === undefined) return context.io.out(text)
  const file = await openFile(context, path, options)
  await file.write(text)
  await file.close()
  context.io.err(`${path} written\n`)
}
