import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { access, hasRole, signOut } from '../api/role.js'
import { useQuery } from '../api/use-query.js'
import { clock, page } from '../browser.js'
import { truncateMiddle } from '../format.js'
import { navigate } from '../route.js'
import { theme } from '../theme.js'
import { zone } from '../zone.js'
import { PAGES } from './pages.js'
import { loadIndex, type SearchResult, searchIndex, searchRecords } from './search.js'

/** Which dialog is open: the search, or the list of keys. */
export const openPalette = signal<'search' | 'keys' | undefined>(undefined)

/** How long the search waits for the next character before it asks the server. */
const TYPING_MS = 200

const MAX_NAME_LENGTH = 60

/** Whether keys are typed into a field. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

/** Opens the search with Ctrl-K or `/` and the list of keys with `?`. */
export function listenForKeys(): void {
  page.addEventListener('keydown', (press) => {
    const isSearchKey = (press.ctrlKey || press.metaKey) && press.key.toLowerCase() === 'k'
    const isPlain = !press.ctrlKey && !press.metaKey && !press.altKey && !isField(press.target)
    // Another dialog stays in front.
    if (page.querySelector('dialog[open]:not(.palette)') !== null) return
    if (isSearchKey || (isPlain && press.key === '/')) openPalette.value = 'search'
    else if (isPlain && press.key === '?') openPalette.value = 'keys'
    else return
    press.preventDefault()
  })
}

interface Command {
  readonly type: string
  readonly name: string
  run(): void
}

const pageCommands = (): Command[] =>
  PAGES.filter(({ role }) => role === undefined || hasRole(role)).map(({ title, path }) => ({
    type: 'Page',
    name: title,
    run: () => navigate(path),
  }))

function settingCommands(): Command[] {
  const commands: Command[] = [
    ...(['system', 'light', 'dark'] as const).map((one) => ({
      type: 'Theme',
      name: `Theme: ${one}`,
      run: () => {
        theme.value = one
      },
    })),
    ...(['utc', 'local'] as const).map((one) => ({
      type: 'Time zone',
      name: one === 'utc' ? 'Show times in UTC' : 'Show local times',
      run: () => {
        zone.value = one
      },
    })),
    {
      type: 'Help',
      name: 'Keyboard shortcuts',
      run: () => {
        openPalette.value = 'keys'
      },
    },
  ]
  if (access.value?.csrf_token === undefined) return commands
  return [...commands, { type: 'Access', name: 'Sign out', run: () => void signOut().catch(() => undefined) }]
}

const toCommand = ({ type, name, href }: SearchResult): Command => ({ type, name, run: () => navigate(href) })

/** The results for a text: commands that begin with it, records with exactly this id, ids and commands that contain it. */
function useResults(text: string): { results: readonly Command[]; isSearching: boolean } {
  const index = useQuery('search index', loadIndex)
  const isPartial = index.data?.isPartial === true
  const records = useQuery(`search ${isPartial} ${text}`, async (signal) => {
    if (text === '') return []
    await new Promise<void>((resolve) => {
      clock.setTimer(resolve, TYPING_MS)
    })
    return signal.aborted ? [] : searchRecords(text, isPartial, signal)
  })
  const lower = text.toLowerCase()
  const commands = [...pageCommands(), ...(text === '' ? [] : settingCommands())]
  const [first, second] = [0, 1].map((rank) =>
    commands.filter(({ name }) => {
      const at = name.toLowerCase().indexOf(lower)
      return rank === 0 ? at === 0 : at > 0
    }),
  ) as [Command[], Command[]]
  const ids = text === '' || index.data === undefined ? [] : searchIndex(index.data, text)
  const found = [...(records.data ?? []), ...ids].map(toCommand)
  return { results: [...first, ...found, ...second], isSearching: records.isLoading }
}

/** Shows a modal dialog, and returns the focus when it is closed. */
function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = page.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return dialog
}

const close = (): void => {
  openPalette.value = undefined
}

function SearchDialog() {
  const dialog = useModal()
  const text = useSignal('')
  const selected = useSignal(0)
  const { results, isSearching } = useResults(text.value.trim())
  const current = Math.min(selected.value, results.length - 1)
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    command.run()
  }
  const onKeyDown = (press: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[press.key]
    if (step !== undefined) {
      press.preventDefault()
      selected.value = (current + step + results.length) % Math.max(results.length, 1)
      page.getElementById(`result-${selected.value}`)?.scrollIntoView({ block: 'nearest' })
    } else if (press.key === 'Enter') {
      press.preventDefault()
      run(results[current])
    }
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Search" onClose={close}>
      <article>
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="results"
          aria-activedescendant={results.length > 0 ? `result-${current}` : undefined}
          aria-label="Search pages and IDs"
          placeholder="Page, policy, breaker, session, dead letter, operation, correlation ID"
          autocomplete="off"
          spellcheck={false}
          value={text.value}
          onInput={(input) => {
            text.value = input.currentTarget.value
            selected.value = 0
          }}
          onKeyDown={onKeyDown}
        />
        <ul id="results" role="listbox" aria-label="Results">
          {results.map((command, index) => (
            <li
              id={`result-${index}`}
              role="option"
              aria-selected={index === current}
              key={`${command.type} ${command.name}`}
              onClick={() => run(command)}
            >
              <span title={command.name}>{truncateMiddle(command.name, MAX_NAME_LENGTH)}</span>
              <span class="hint">{command.type}</span>
            </li>
          ))}
        </ul>
        <p class="hint" role="status">
          {results.length > 0 ? '' : isSearching ? 'Searching…' : 'No results'}
        </p>
      </article>
    </dialog>
  )
}

const KEYS = [
  ['Ctrl K or /', 'Search pages and IDs'],
  ['?', 'Show these shortcuts'],
  ['↑ ↓ Enter', 'Select a result'],
  ['Esc', 'Close a dialog'],
  ['Tab', 'Move to the next control'],
] as const

function KeysDialog() {
  const dialog = useModal()
  return (
    <dialog ref={dialog} class="palette" aria-label="Keyboard shortcuts" onClose={close}>
      <article>
        <h2>Keyboard shortcuts</h2>
        <dl class="facts">
          {KEYS.map(([key, text]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
        <footer class="actions">
          <button type="button" class="secondary" onClick={close}>
            Close
          </button>
        </footer>
      </article>
    </dialog>
  )
}

/** The search or the list of keys, when one of them is open. */
export function Palette() {
  if (openPalette.value === 'search') return <SearchDialog key="search" />
  return openPalette.value === 'keys' ? <KeysDialog key="keys" /> : null
}
