/* src/api: the library's own edge: public functions that belong to no layer below, because they
 * join two of them. Everything else that include/llapdiff/ declares is defined in the layer that
 * does it (llap_forecast in predict/forecast.c).
 *
 *   panel.c    llap_panel_read: public options to those of readers and timeline
 *   pack.c     llap_panel_pack, and opening what was packed; reading.h: what both share
 *   memory.c   panels and answers as arrays
 *   config.c   llap_config_read: options from a JSON file
 *   answer_plot.c, components_plot.c, detection_plot.c, panel_plot.c, poles.c, scores_plot.c:
 *              answers, components, alarms, panels, poles and scores as pictures
 *   folder.h   a picture for each entity, in a folder
 *   version.c  llap_version, llap_features, llap_device_check: what this build is and can do here
 *
 * May touch: every layer. */
