// Reads the pages of Notion and the dead-letter folder.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from './services/services.js'

/** The mails that are missing in Notion, and the mails that were written more than once. */
export function compare(
  mails: readonly string[],
  pages: readonly Page[],
): { missing: string[]; twice: string[] } {
  const counts = new Map<string, number>()
  for (const { mail } of pages) counts.set(mail, (counts.get(mail) ?? 0) + 1)
  return {
    missing: mails.filter((mail) => !counts.has(mail)),
    twice: mails.filter((mail) => (counts.get(mail) ?? 0) > 1),
  }
}

interface Kept {
  readonly operation_type: string
  readonly item_id: string
  readonly status: string
  readonly original_payload: { step: string; item: string; value: unknown }
  readonly error_details: { error_type: string; error_message: string; retry_count: number }
}

/** Reads the files of the dead-letter folder. */
export async function deadLettersIn(folder: string): Promise<Kept[]> {
  const names = await readdir(join(folder, 'dlq'), { recursive: true }).catch(() => [])
  const files = names.filter((name) => /dlq_[^/]*\.json$/.test(name))
  const texts = await Promise.all(files.map((name) => readFile(join(folder, 'dlq', name), 'utf8')))
  return texts.map((text) => JSON.parse(text) as Kept)
}
