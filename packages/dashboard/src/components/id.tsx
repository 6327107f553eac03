import { useSignal } from '@preact/signals'
import { clock, page } from '../browser.js'
import { truncateMiddle } from '../format.js'

/** Copies a text. The clipboard API exists only in secure contexts; elsewhere a hidden field is selected and copied. */
async function copyText(text: string): Promise<void> {
  const { clipboard } = globalThis.navigator as { clipboard?: Clipboard }
  if (clipboard !== undefined) return clipboard.writeText(text)
  const field = page.createElement('textarea')
  field.value = text
  // A modal dialog makes everything outside it inert.
  const host = page.querySelector('dialog[open]') ?? page.body
  const focused = page.activeElement
  host.append(field)
  field.select()
  const isCopied = page.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  if (!isCopied) throw new Error('the browser does not allow copying')
}

const COPIED_MS = 1500

/** Two sheets, a tick and a cross as lines. Characters for them are missing in some fonts. */
const ICONS = {
  '': 'M5.5 5.5h8v8h-8zM2.5 10.5v-8h8',
  Copied: 'M3 8.5l3.5 3.5L13 4.5',
  'Not copied': 'M4 4l8 8M12 4l-8 8',
} as const

/** A button that copies a text. `label` names the text: "Copy session ID". */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const result = useSignal<keyof typeof ICONS>('')
  const copy = async (): Promise<void> => {
    result.value = await copyText(text).then(
      () => 'Copied' as const,
      () => 'Not copied' as const,
    )
    clock.setTimer(() => {
      result.value = ''
    }, COPIED_MS)
  }
  return (
    <button
      type="button"
      class={children === undefined ? 'copy' : 'small secondary'}
      aria-label={result.value === '' ? `Copy ${label}` : result.value}
      title={result.value === '' ? `Copy ${label}` : result.value}
      onClick={() => void copy()}
    >
      {children === undefined ? (
        <svg class="copy-icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d={ICONS[result.value]} />
        </svg>
      ) : (
        result.value || children
      )}
    </button>
  )
}

const DEFAULT_ID_LENGTH = 28

/** An id: its middle left out where it is long, the whole id as a tooltip, a link where it has a page, a copy button. */
export function Id(props: {
  value: string
  /** What the id identifies, for the copy button: "session ID". */
  label: string
  href?: string | undefined
  length?: number
}) {
  const { value, label, href, length = DEFAULT_ID_LENGTH } = props
  const text = truncateMiddle(value, length)
  const title = text === value ? undefined : value
  return (
    <span class="id">
      {href === undefined ? (
        <span title={title}>{text}</span>
      ) : (
        <a href={href} title={title}>
          {text}
        </a>
      )}
      <CopyButton text={value} label={label} />
    </span>
  )
}
