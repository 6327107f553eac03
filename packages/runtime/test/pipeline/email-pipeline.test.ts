import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { run } from '../../../../examples/email-pipeline/src/example.js'
import { compile } from '../dead-letters/compile.js'

/** What the example's `--mails` is made for. */
type Mails = Parameters<typeof run>[0]['mails']

describe('the example email-pipeline with few mails', () => {
  it('loses no mail and writes none twice while services fail and the replay is killed', async () => {
    const program = await compile('examples/email-pipeline/src/main.ts', 'email-pipeline-test')
    const mails: Mails = 100
    const config = join(
      fileURLToPath(import.meta.url),
      '../../../../../examples/email-pipeline/holdfast.yaml',
    )
    const { stdout } = await promisify(execFile)(process.execPath, [
      program,
      '--mails',
      `${mails}`,
      '--config',
      config,
    ])
    expect(stdout).toContain('SIGKILL, with')
    expect(stdout).toContain(`${mails} pages, 0 missing, 0 twice, 0 left to replay`)
  })
})
