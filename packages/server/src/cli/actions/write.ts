import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'

/** Files that can contain payloads or credentials are readable only by their owner. */
const PRIVATE_MODE = 0o600
const PUBLIC_MODE = 0o644

interface WriteOptions {
  /** Whether the file must not exist yet. */
  mustBeNew?: boolean
  /** Whether other users can read the file, which must not contain secrets then. */
  isPublic?: boolean
}

/** Opens a file for writing in several steps. @throws CommandFailure */
export async function openFile(
  { io }: CommandContext,
  path: string,
  { mustBeNew = false, isPublic = false }: WriteOptions = {},
): Promise<{ write(text: string): Promise<unknown>; close(): Promise<void> }> {
  try {
    const handle = await open(
      resolve(io.cwd, path),
      mustBeNew ? 'wx' : 'w',
      isPublic ? PUBLIC_MODE : PRIVATE_MODE,
    )
    return { write: (text) => handle.write(text), close: () => handle.close() }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isExisting = code === 'EEXIST'
    throw new CommandFailure(
      EXIT_CODES.failure,
      isExisting ? `${path} already exists` : `${path} cannot be written (${code})`,
      isExisting ? { hint: 'choose another name, or add --force to overwrite it' } : {},
    )
  }
}

/** Writes a file, or prints the text where no path is given. */
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
  context.io.err(`wrote ${path}\n`)
}
