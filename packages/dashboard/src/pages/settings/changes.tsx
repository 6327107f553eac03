import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { callApi, getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireConfigVersion, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { ActionButton } from '../../components/action-button.js'
import { EmptyState, NoValue, Panel, QueryView, Table, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { ConfigDiff } from './config-diff.js'

/** The values that a version changed, which are loaded when the user asks for them. */
function VersionChanges({ version }: { version: number }) {
  const isOpen = useSignal(false)
  return (
    <details
      onToggle={(toggle) => {
        isOpen.value = toggle.currentTarget.open
      }}
    >
      <summary aria-label={`Show changes of version ${version}`}>Show</summary>
      {isOpen.value && <ConfigDiff from={version - 1} to={version} label={`Changes of version ${version}`} />}
    </details>
  )
}

/** The versions of the live changes, with the values that each changed, and with rollback. */
export function ConfigChanges({ onChange }: { onChange: () => void }) {
  const loaded = useQuery('history', (signal) =>
    getJson<WirePage<WireConfigVersion>>('/config/history', { limit: '100' }, signal),
  )
  const isAdmin = hasRole('admin')
  const confirmChange = (
    path: string,
    title: string,
    text: ComponentChildren,
    action: string,
    body: object = {},
  ): void =>
    confirm({
      title,
      text,
      action,
      isDangerous: path !== 'reload',
      async run(reason) {
        await callApi('POST', `/config/${path}`, { body: { ...body, ...(reason && { reason }) } })
        toast('Done. The effective configuration is shown below.')
        loaded.reload()
        onChange()
      },
    })
  return (
    <Panel
      title="Live changes"
      class="wide"
      actions={
        isAdmin && (
          <>
            <ActionButton
              type="button"
              class="small secondary"
              onClick={() =>
                confirmChange(
                  'reload',
                  'Reload the config file?',
                  'An invalid file is rejected, and nothing changes.',
                  'Reload',
                )
              }
            >
              Reload file
            </ActionButton>
            <ActionButton
              type="button"
              class="small secondary"
              onClick={() =>
                confirmChange(
                  'clear',
                  'Discard all live changes?',
                  <>
                    <p>Only the config file applies then. The versions are kept for a rollback.</p>
                    <ConfigDiff to={0} label="Changes of the configuration" />
                  </>,
                  'Discard all',
                )
              }
            >
              Discard all live changes
            </ActionButton>
          </>
        )
      }
    >
      <QueryView of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No live changes">
              Each change of a <a href="/policies">policy</a> creates a version here.
            </EmptyState>
          ) : (
            <Table
              label="Versions"
              head={['Version', 'Actor', 'Time', 'Reason', 'Changes', ...(isAdmin ? ['Actions'] : [])]}
            >
              {items.map(({ version, by, at, reason }, index) => (
                <tr key={version}>
                  <th scope="row">
                    {version}
                    {index === 0 && ' (current)'}
                  </th>
                  <td>{by}</td>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{reason ?? <NoValue />}</td>
                  <td>
                    <VersionChanges version={version} />
                  </td>
                  {isAdmin && (
                    <td>
                      {index > 0 && (
                        <ActionButton
                          type="button"
                          class="small secondary"
                          aria-label={`Roll back to version ${version}`}
                          onClick={() =>
                            confirmChange(
                              'rollback',
                              `Roll back to version ${version}?`,
                              <>
                                <p>
                                  Later changes are undone. The rollback creates a new version. Takes effect
                                  immediately.
                                </p>
                                <ConfigDiff to={version} label="Changes of the configuration" />
                              </>,
                              'Roll back',
                              { version },
                            )
                          }
                        >
                          Roll back
                        </ActionButton>
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </Table>
          )
        }
      </QueryView>
    </Panel>
  )
}
