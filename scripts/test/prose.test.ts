import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findPhrases } from '../lint/phrases.mjs'
import { root } from '../packages.mjs'
import { sentencesOf } from '../prose/sentences.js'

describe('rejected phrases', () => {
  test.each([
    'it leaves a target alone that is down',
    'Two, each of its own: an attempt and a call',
    'the members of an AggregateError, of which the most hopeful speaks',
    'One bad host closes the door to all',
    'a history that can be gone back in',
    'what it failed of',
    '256 bits of chance behind a prefix',
    'the words of the command do not fit',
    'retries is no key of a policy',
    'expected a number, got a text that is not shown',
    'nobody listens',
    'bad proxies are set aside',
    'it stands for the host',
  ])('contain %s', (text) => {
    expect(findPhrases(text)).not.toEqual([])
  })

  test.each([
    'there is no key of that name',
    'the breaker is no longer open',
    '3 of 5 calls failed',
    'the target failed often',
    'two breakers, one for each host',
    'the value is not shown',
  ])('do not contain %s', (text) => {
    expect(findPhrases(text)).toEqual([])
  })

  test('are reported with their place and a replacement', () => {
    expect(findPhrases('a\nnobody')).toEqual([
      { phrase: 'nobody', better: 'name the caller, node, process or member', index: 2 },
    ])
  })
})

describe('sentences of a paragraph', () => {
  test('end at punctuation that is followed by a space', () => {
    expect(sentencesOf('One. Two 1.5 and a.b: three').map(({ text }) => text)).toEqual([
      'One.',
      'Two 1.5 and a.b:',
      'three',
    ])
  })

  test('contain code as one word and links as their text', () => {
    const [sentence] = sentencesOf('Call `a. b. c` and [read this](https://example.com/a.b).')
    expect(sentence?.text.split(/\s+/)).toEqual(['Call', 'code', 'and', 'read', 'this', '.'])
  })
})

test('textlint reports phrases, long sentences, "What" as a subject and merge conflicts, but not code', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-prose-'))
  const file = join(dir, 'page.md')
  const long = `${'word '.repeat(41)}end.`
  const conflict = `${'<'.repeat(7)} HEAD\none\n=======\ntwo\n${'>'.repeat(7)} branch\n`
  writeFileSync(
    file,
    `# A page\n\nNobody calls.\n\n\`nobody\` is a user.\n\n${long}\n\nWhat fails is retried.\n\n${conflict}`,
  )
  try {
    const args = ['--no-textlintrc', '--rulesdir', join(root, 'scripts/prose'), '--format', 'json', file]
    execFileSync(join(root, 'node_modules/.bin/textlint'), args, { encoding: 'utf8' })
    expect.unreachable('textlint must fail')
  } catch (error) {
    const [{ messages }] = JSON.parse((error as { stdout: string }).stdout)
    expect(messages.map(({ line, message }: { line: number; message: string }) => [line, message])).toEqual([
      [3, 'write "name the caller, node, process or member" instead of "Nobody"'],
      [7, '42 words in one sentence, at most 40'],
      [9, 'name the subject in place of "What …"'],
      [11, 'resolve the merge conflict'],
      [15, 'resolve the merge conflict'],
    ])
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
