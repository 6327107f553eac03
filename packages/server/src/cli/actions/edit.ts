import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { WireDeadLetter } from '../../wire-types.js'
import { reasonHeader, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { createUsageError } from '../context/exit.js'
import { printJson } from '../output/print.js'

/** Reads the new payload from a file, or from standard input. @throws CommandFailure that does not quote the payload */
function readPayload({ io }: CommandContext, source: string): unknown {
  let text: string
  try {
    text = readFileSync(source === '-' ? 0 : resolve(io.cwd, source), 'utf8')
  } catch (error) {
    throw createUsageError(
      `--payload: ${source} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      'give a JSON file, or - for standard input',
    )
  }
  try {
    return JSON.parse(text)
  } catch {
    throw createUsageError(`--payload: expected JSON, got text that is not valid JSON in ${source}`)
  }
}

/** `dead-letters edit ID`: replaces the payload that replays use. */
export async function editEntry(
  context: CommandContext,
  id: string,
  { payload: source, reason }: { payload: string; reason?: string },
): Promise<void> {
  const payload = readPayload(context, source)
  const entry = await withApi(context, { canWrite: true }, (api) =>
    requestJson<WireDeadLetter>(api, 'PUT', `/dead-letters/${encodeURIComponent(id)}/payload`, {
      body: { payload },
      ...reasonHeader(reason),
    }),
  )
  if (context.globalOptions.json) return printJson(context, entry)
  const result = entry.edited_payload == null ? 'has its original payload again' : 'edited'
  context.io.out(`${entry.dlq_id} ${result}\n`)
}
