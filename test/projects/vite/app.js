import { Holdfast } from '@holdfast/runtime'
import { guard } from 'holdfast'
import { createFetch } from 'holdfast/http'

async function main() {
  const hf = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
  const value = await hf.run('mail.send', () => guard({ name: typeof createFetch }).run(() => 'sent'))
  await hf.close()
  if (value !== 'sent') throw new Error(`got ${value}`)
}

void main()
