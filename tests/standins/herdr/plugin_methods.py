"""The methods for plugins and notifications."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from standins.herdr import describe
from standins.herdr.lookup import OK, Params, RefusedError
from standins.herdr.plugins import TOAST_SECONDS
from standins.herdr.session import Session

Plugin = dict[str, Any]


def plugin_list(session: Session, params: Params) -> dict[str, Any]:
    wanted = params.get("plugin_id")
    plugins = [one for one in session.plugins.registry.all() if wanted in (None, one["plugin_id"])]
    return {"type": "plugin_list", "plugins": plugins}


def plugin_link(session: Session, params: Params) -> dict[str, Any]:
    return {"type": "plugin_linked", "plugin": session.plugins.registry.link(Path(params["path"]))}


def plugin_unlink(session: Session, params: Params) -> dict[str, Any]:
    removed = session.plugins.registry.unlink(params["plugin_id"])
    return {"type": "plugin_unlinked", "plugin_id": params["plugin_id"], "removed": removed}


def plugin_action_list(session: Session, params: Params) -> dict[str, Any]:
    return {
        "type": "plugin_action_list",
        "actions": [_described(*found) for found in _actions(session, params)],
    }


def plugin_action_invoke(session: Session, params: Params) -> dict[str, Any]:
    """By `plugin.action`, or by both."""
    for plugin, action in _actions(session, params):
        if params["action_id"] in (action["id"], f"{plugin['plugin_id']}.{action['id']}"):
            told = {"HERDR_PLUGIN_ACTION_ID": action["id"]}
            log = session.plugins.run(plugin, action["command"], told, action_id=action["id"])
            return {
                "type": "plugin_action_invoked",
                "action": _described(plugin, action),
                "context": {"invocation_source": "api"},
                "log": log,
            }
    raise RefusedError("plugin_action_not_found", "plugin action not found")


def _actions(session: Session, params: Params) -> list[tuple[Plugin, dict[str, Any]]]:
    plugins = plugin_list(session, params)["plugins"]
    return [(plugin, action) for plugin in plugins for action in plugin.get("actions", [])]


def _described(plugin: Plugin, action: dict[str, Any]) -> dict[str, Any]:
    rest = {name: action[name] for name in ("title", "contexts", "command") if name in action}
    platforms = {"platforms": plugin["platforms"]} if "platforms" in plugin else {}
    return {"plugin_id": plugin["plugin_id"], "action_id": action["id"], **rest, **platforms}


def plugin_log_list(session: Session, params: Params) -> dict[str, Any]:
    wanted = params.get("plugin_id")
    logs = [log for log in session.plugins.logs() if wanted in (None, log["plugin_id"])]
    return {"type": "plugin_log_list", "logs": logs}


def plugin_pane_open(session: Session, params: Params) -> dict[str, Any]:
    plugin = session.plugins.registry.get(params["plugin_id"])
    name = params["entrypoint"]
    entry = next((one for one in plugin.get("panes", []) if one["id"] == name), None)
    if entry is None:
        raise RefusedError("plugin_pane_not_found", f"plugin pane entrypoint '{name}' not found")
    if (params.get("placement") or entry.get("placement", "overlay")) == "popup":
        return _open_popup(session, plugin, entry)
    return _open_pane(session, plugin, entry)


def _open_popup(session: Session, plugin: Plugin, entry: dict[str, Any]) -> dict[str, Any]:
    if session.layout.active is None:
        raise RefusedError("ui_busy", "popup panes can only open from the normal workspace view")
    if session.plugins.popup:
        raise RefusedError("plugin_pane_open_failed", "popup already open")
    told = session.plugins.told(plugin, {"HERDR_PLUGIN_ENTRYPOINT_ID": entry["id"]})
    session.plugins.open_popup(plugin["plugin_root"], told, entry["command"])
    return OK


def _open_pane(session: Session, plugin: Plugin, entry: dict[str, Any]) -> dict[str, Any]:
    if session.layout.active is None or session.layout.active.active is None:
        raise RefusedError("plugin_pane_open_failed", "no active workspace")
    told = session.plugins.told(plugin, {"HERDR_PLUGIN_ENTRYPOINT_ID": entry["id"]})
    pane = session.open(session.layout.active.active, plugin["plugin_root"], True, told, entry["command"])
    pane.label = entry["title"]
    opened = {"plugin_id": plugin["plugin_id"], "entrypoint": entry["id"]}
    return {
        "type": "plugin_pane_opened",
        "plugin_pane": {**opened, "pane": describe.pane(pane, session.layout)},
    }


def popup_close(session: Session, params: Params) -> dict[str, Any]:
    if not session.plugins.popup:
        raise RefusedError("popup_not_open", "no popup is open")
    session.plugins.close_popup()
    return OK


def notification_show(session: Session, params: Params) -> dict[str, Any]:
    """As with `[ui.toast] delivery = "herdr"`: one at a time."""
    if not params["title"].strip():
        raise RefusedError("invalid_params", "notification title is empty")
    shown = time.monotonic() >= session.plugins.toast_until
    if shown:
        session.plugins.toast_until = time.monotonic() + TOAST_SECONDS
    return {"type": "notification_show", "shown": shown, "reason": "shown" if shown else "busy"}
